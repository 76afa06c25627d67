import { expect, it } from "vitest";
import { diagnose } from "./doctor-run.ts";
import { environmentOf, openFolder, startService } from "./doctor-setup.ts";

// What the doctor says of pass-through routes: where they lead, and as which site.

async function diagnoseRoutes(routes: string, moreSites = "") {
  const { write } = await openFolder();
  const service = await startService();
  const sandbox = environmentOf(service)
    .replace(/sites: \{/, `passThrough: [ ${routes} ], sites: { ${moreSites}`)
    .replace(/operations: \["\*"\]/, "operations: [create_order]");
  const { hasFailed, of } = await diagnose(write({ environments: { sandbox } }), { withToken: false });
  expect(hasFailed).toBe(false);
  return of("route");
}

it("says where a route leads and as which site", async () => {
  const [line, ...more] = await diagnoseRoutes('{ prefix: "/files/", methods: [GET, PUT], upgrade: websocket }');
  expect(line).toMatch(/^ok \/files\/: GET, PUT and WebSocket pass to https?:\/\/\S+\/files\/ as S1$/);
  expect(more).toEqual([]);
});

it("warns where a request may name a site that has no token", async () => {
  const other = "S2: { keys: [ { identifier: K2, secret: { file: DIR/k1 } } ] },";
  const [line] = await diagnoseRoutes('{ prefix: "/files/", methods: [GET] }', other);
  expect(line).toMatch(/^warn \/files\/: .* only 1 of 2 sites use OAuth \| add site to the route/);
});
