import { expect, it } from "vitest";
import { diagnose } from "./doctor-run.ts";
import { environmentOf, openFolder, startService } from "./doctor-setup.ts";

// What the doctor says of sites where callers' own signatures are checked.

async function check(children: string): Promise<readonly string[]> {
  const { write } = await openFolder();
  const keys = "keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ]";
  const site = `S1000000003: { checkCallerSignature: report, ${keys}, children: { ${children} } }`;
  const sandbox = environmentOf(await startService()).replace(/sites: \{/, `sites: { ${site},`);
  const { of } = await diagnose(write({ environments: { sandbox } }), { withToken: false });
  return of("config").filter((line) => line.includes("signatures"));
}

it("names children that have no key to check with", async () => {
  const own = "S1000000008: { keys: [ { identifier: K8, secret: { file: DIR/k2 } } ] }";
  expect(await check(own)).toEqual(["ok signatures: callers' own signatures are checked at 2 sites"]);
  const bare =
    "S1000000009: { auth: [oauth], credentials: [ { name: green, clientId: a, clientSecret: { file: DIR/green }, audience: b } ] }";
  expect(await check(`${own}, ${bare}`)).toEqual([
    expect.stringMatching(/^warn signatures: .* for S1000000009 cannot be checked: no keys \| add the keys/),
  ]);
});
