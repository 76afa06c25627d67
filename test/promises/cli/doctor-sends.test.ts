/** `doctor --send`: one real request of the operator's choice checks what no probe can: the path of baseUrl, and the key. */
import { expect, it } from "vitest";
import { canaries } from "../../../testkit/config-folder.ts";
import { openFolder, runDoctor, sitesWith, startService } from "./doctor-runs.ts";

const secret = "canary-api-secret-key-of-S3";
const signing = "S3: { keys: [ { identifier: K3, secret: { file: DIR/own/3 } } ] }";
const body = '{"order_amount":"1.00"}';

it("sends exactly one request, with a token or signed, and says that the service answers it", async () => {
  const { send, orders } = await stage();
  const withToken = await send("--operation", "create_order");
  expect(withToken.stdout).toMatch(/^ok {4}send {4}sandbox {2}create_order: the service answers 200/m);
  expect(withToken.stdout).toMatch(/^Not checked: whether sandbox accepts the HMAC keys\.$/m);
  expect({ exitCode: withToken.exitCode, orders: orders() }).toEqual({ exitCode: 0, orders: 1 });
  const signed = await send("--operation", "create_order", "--site", "S3");
  expect(signed.stdout).toMatch(/^ok {4}send .*answers 200/m);
  expect(signed.stdout).toMatch(/^Not checked: whether sandbox accepts the tokens\./m);
  expect({ exitCode: signed.exitCode, orders: orders() }).toEqual({ exitCode: 0, orders: 2 });
});

it.each([
  ["a wrong path", { path: "/json-apy" }, "S1", /404: it does not know the path.*\n +fix: .*baseUrl/],
  ["a wrong key", { keySecret: "canary-another-secret-key" }, "S3", /4\d\d: it does not accept/],
])("finds %s, which no other check sees", async (_, faults, site, says) => {
  const { send } = await stage(faults);
  const { exitCode, stdout } = await send("--operation", "create_order", "--site", site);
  expect(stdout).toMatch(new RegExp(`^fail {2}send .*answers ${says.source}`, "m"));
  expect(stdout.match(/^fail/gm)).toHaveLength(1);
  expect(exitCode).toBe(1);
});

it("finds a redirect, after which no order exists", async () => {
  const { send, service } = await stage();
  service.faults.add({ host: "api", kind: "answer", status: 302, times: "until_cleared" });
  const { exitCode, stdout } = await send("--operation", "create_order", "--site", "S3");
  expect(stdout).toMatch(
    /^fail {2}send .*answers 302: no redirect is followed, so no order exists.*\n +fix: .*baseUrl/m,
  );
  expect(exitCode).toBe(1);
});

it("warns of a page that answers in place of the service", async () => {
  const { send, service } = await stage();
  const page = { status: 200, headers: { "content-type": "text/html" }, body: "<html>Maintenance</html>" };
  service.faults.add({ host: "api", kind: "answer", ...page, times: "until_cleared" });
  const { stdout } = await send("--operation", "create_order", "--site", "S3");
  expect(stdout).toMatch(
    /^warn {2}send .*answers 200: it sends text\/html, which is no JSON.*\n +fix: see who answers/m,
  );
});

it("leads to the documentation's site if the configuration has one", async () => {
  const { send, service } = await stage({ more: "docs: { baseUrl: https://docs.example/pay }" });
  service.faults.add({ host: "api", kind: "reset", when: "after_reading", times: "until_cleared" });
  const { stdout } = await send("--operation", "create_order", "--site", "S3");
  expect(stdout).toMatch(/upstream_reset: .*\n +fix: .*https:\/\/docs\.example\/pay\/docs\/reference\/errors\.html/);
});

it.each([
  ["--send", "x", "body_not_json", "correct the JSON of --send"],
  ["--operation", "a/..", "target_not_allowed", "correct --operation"],
  ["--operation", "delete_order", "operation_not_allowed", "correct --operation"],
  ["--site", "S9", "site_not_configured", "name a site that is configured, with --site"],
  ["--auth", "hmac", "auth_not_configured", "correct --auth"],
])("%s %s is refused by Countersign itself, with a fix for the command line", async (option, value, code, fix) => {
  const { send } = await stage();
  const { exitCode, stdout } = await send("--operation", "create_order", option, value);
  expect(stdout).toMatch(refusal(code, fix));
  expect(exitCode).toBe(1);
});

it("says that no token came, after all that a request waits for it", async () => {
  const { send, service } = await stage();
  await service.stopLogin();
  const { exitCode, stdout } = await send("--operation", "create_order");
  expect(stdout).toMatch(refusal("token_unavailable", "see the lines above about token"));
  expect(exitCode).toBe(1);
});

function refusal(code: string, fix: string): RegExp {
  return new RegExp(`^fail {2}send .*Countersign answers \\d+ ${code}: .*\\n +fix: ${fix}`, "m");
}

it("reports a refusal by Countersign itself, and a missing option, and sends nothing", async () => {
  const { send, orders } = await stage();
  const refused = await send("--operation", "delete_order");
  expect(refused.stdout).toMatch(/^fail {2}send .*Countersign answers 403 operation_not_allowed: .*Nothing was sent/m);
  expect(refused.stdout).toMatch(
    /^Not checked: the path of baseUrl in sandbox, whether sandbox accepts the tokens, whether sandbox accepts the HMAC/m,
  );
  const unnamed = await send();
  expect(unnamed).toMatchObject({ exitCode: 2, stdout: "" });
  expect(unnamed.stderr).toContain("--operation");
  const tokenless = await send("--operation", "create_order", "--no-token");
  expect(tokenless.exitCode).toBe(2);
  expect(orders()).toBe(0);
});

/** A service with a site for OAuth and a site for HMAC, and a configuration for that service. */
async function stage({ path = "/json-api", keySecret = secret, more = "" } = {}) {
  const audience = "https://api.sandbox.example";
  const credentials = [{ clientId: "blue-id", clientSecret: canaries.blue, audience }];
  const keys = [{ identifier: "K3", secret, isDefault: true }];
  const service = await startService({
    sites: [
      { identifier: "S1", credentials },
      { identifier: "S3", keys },
    ],
  });
  const { write } = await openFolder({ "own/3": keySecret });
  const { origin } = new URL(service.apiUrl);
  const sandbox = `baseUrl: "${origin}${path}", authUrl: "${service.loginUrl}", allowPlaintext: true, defaultSite: S1, ${sitesWith(signing)}`;
  const file = write({ environments: { sandbox }, more });
  const send = (...more: readonly string[]) => runDoctor(["--config", file, "--send", body, ...more]);
  const orders = () => service.seen.apiRequests.filter(({ method }) => method === "POST").length;
  return { service, orders, send };
}
