/** A secret is never sent in a body, recognised by its name in a sample (spec 5.2) or by its value. */
import { expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { call, order } from "../../../testkit/call.ts";
import { noTls as tls } from "../../../testkit/certificates.ts";
import { canaries as fileCanaries } from "../../../testkit/config-folder.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { logOf } from "../../../testkit/log-lines.ts";
import { canaries, childSite, hmacSite, oauthSite, type Stage, stage } from "../../../testkit/stage.ts";
import { hmacSite as podsHmacSite, startPod } from "../reload/pod.ts";

const sites = [oauthSite, childSite, hmacSite];

it.each(sites)("refuses the parameter secret_key at %s, in any spelling and with any value", async (site) => {
  const staged = await stage();
  for (const body of [
    { ...order, secret_key: "x" },
    { secret_key: "", ...order },
    { secret_key: 1 },
    '{"\\u0073ecret_key":"x"}',
    '{"order_amount":"1.00","secret\\u005f\\u006bey":true}',
  ]) {
    await expectRefusal(staged, body, "secret_key", site);
  }
});

it.each(sites)("refuses a secret of the environment's sites as the value of any parameter at %s", async (site) => {
  const staged = await stage();
  for (const secret of [canaries.blue, canaries.green, canaries.keyOne, canaries.keyTwo]) {
    await expectRefusal(staged, { ...order, note: secret }, "note", site);
    await expectRefusal(staged, { ...order, site_identifier: secret }, "site_identifier", site);
    const escaped = [...secret].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join("");
    await expectRefusal(staged, `{"signature":"${escaped}"}`, "signature", site);
  }
});

it("refuses a secret that is written as a number, and the forward proxy's credentials, in any characters", async () => {
  const key = { identifier: "K2000000001", version: "3.0", secret: new Secret("90210902109021090210") };
  const credentials = new Secret("user:€€€€");
  const proxy = { origin: "http://proxy.example:1", scheme: "http", host: "proxy.example", port: 1, path: "" } as const;
  const staged = await stage({ site: { keys: [key], defaultKey: key } });
  const { url } = await stage({
    environment: { egress: { proxy, tls, credentials, noProxy: [], direct: new Set() } },
  });
  await expectRefusal(staged, '{"note":90210902109021090210}', "note", hmacSite);
  const answer = await call(url, { note: "user:€€€€" });
  expect(answer.headers["countersign-error"]).toBe("secret_in_body");
});

it("serves an order with a value that only looks like a secret", async () => {
  const { url, simulator } = await stage();
  const alike = canaries.blue.replace("blue", "bluf");
  const values = { note: alike, secret_keys: "a", Secret_Key: "b", secretkey: "c", longer: `${canaries.blue}x` };
  expect((await call(url, { ...order, ...values })).status).toBe(200);
  expect(simulator.counts().apiRequests).toBe(1);
});

it("after a reload refuses the new secret, and no longer the former one", async () => {
  const pod = await startPod();
  const headers = { "Countersign-Site": podsHmacSite };
  const rotated = "canary-api-secret-key-rotated";
  const outcomeOf = async (note: string) =>
    (await call(pod.url, { ...order, note }, { headers })).headers["countersign-error"];
  expect(await outcomeOf(fileCanaries.key)).toBe("secret_in_body");
  expect(await outcomeOf(rotated)).toBeUndefined();
  pod.folder.write("k1", rotated);
  await pod.nth("config_applied", 1);
  expect(await outcomeOf(rotated)).toBe("secret_in_body");
  expect(await outcomeOf(fileCanaries.key)).toBeUndefined();
});

async function expectRefusal(staged: Stage, body: unknown, parameter: string, site: string): Promise<void> {
  const answer = await call(staged.url, body, { headers: { "Countersign-Site": site } });
  expectFailure(answer, {
    status: 400,
    code: "secret_in_body",
    detail: new RegExp(`parameter ${parameter} is .* out\\.`),
  });
  const finished = staged.recorder.of("request_finished").at(-1);
  expect(finished).toMatchObject({ code: "secret_in_body", cause: parameter, attempts: 0 });
  const logged = JSON.stringify(logOf(staged.recorder.events, "trace"));
  expect(staged.simulator.counts().apiRequests).toBe(0);
  for (const secret of Object.values(canaries)) expect(`${answer.text} ${logged}`).not.toContain(secret);
}
