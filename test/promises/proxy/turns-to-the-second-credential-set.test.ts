/** Row 33: a refused set is tried once in 10 s while the second serves; both refused: 502 credentials_refused. */
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { stageLiving } from "../../../testkit/living-stage.ts";
import { canaries, oauthSite } from "../../../testkit/stage.ts";

describe("refused by every set", () => {
  it.each([400, 401, 403])("502 credentials_refused, not_sent, after a %i", async (status) => {
    const { url, simulator, expire } = await stageLiving();
    simulator.faults.add({ host: "login", kind: "answer", status, times: "until_cleared" });
    expire();
    const answer = await call(url);
    expect(answer.status).toBe(502);
    expect(answer.headers["countersign-error"]).toBe("credentials_refused");
    expect(answer.json).toMatchObject({ code: "credentials_refused", outcome: "not_sent" });
    expect(answer.json.detail).toContain(`refused credential "blue" (client blue-id, site ${oauthSite}); no other set`);
    expect(answer.json.detail).toMatch(/Next try in 10 s, or at once when the secret changes\. Nothing was sent\.$/);
    expect(answer.text).not.toContain(canaries.blue);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it("costs one token request in 10 s, however many ask", async () => {
    const { url, simulator, clock, expire } = await stageLiving();
    simulator.changeClientSecret("blue-id", "another");
    expire();
    const requests: number[] = [];
    for (const pushMs of [0, 2_000, 9_000, 2_000, 9_000]) {
      clock.push(pushMs);
      const answers = await Promise.all(Array.from({ length: 20 }, () => call(url)));
      expect(answers.map(({ json }) => json.code)).toEqual(Array(20).fill("credentials_refused"));
      requests.push(simulator.counts().tokenRequests - 1);
    }
    expect(requests).toEqual([1, 1, 2, 2, 3]);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it("names both sets where there are two", async () => {
    const { url, simulator, expire } = await stageLiving({ oneSet: false });
    simulator.deleteCredentials("blue-id");
    simulator.deleteCredentials("green-id");
    expire();
    const answer = await call(url);
    expect(answer.json).toMatchObject({ status: 502, code: "credentials_refused" });
    expect(answer.json.detail).toContain('credential "blue"');
    expect(answer.json.detail).toContain('credential "green"');
    expect(simulator.counts()).toMatchObject({ tokenRequests: 3, apiRequests: 1 });
  });

  it("is over when the authorization server accepts them again", async () => {
    const { url, simulator, clock, expire } = await stageLiving();
    simulator.deleteCredentials("blue-id");
    expire();
    expect((await call(url)).status).toBe(502);
    simulator.restoreCredentials("blue-id");
    clock.push(10_000);
    expect((await call(url)).status).toBe(200);
  });
});

describe("the second set", () => {
  it("takes over at once, with no failed call, while the first is tried once in 10 s", async () => {
    const { url, simulator, clock, expire, recorder } = await stageLiving({ oneSet: false });
    simulator.deleteCredentials("blue-id");
    expire();
    for (let n = 0; n < 20; n++) expect((await call(url)).status).toBe(200);
    expect(simulator.seen.tokenRequests.map(({ clientId }) => clientId)).toEqual(["blue-id", "blue-id", "green-id"]);
    expect(recorder.of("credential_switched")).toEqual([
      {
        kind: "credential_switched",
        environment: "sandbox",
        site: oauthSite,
        from: `${oauthSite}/blue`,
        to: `${oauthSite}/green`,
      },
    ]);
    clock.push(10_000);
    for (let n = 0; n < 20; n++) expect((await call(url)).status).toBe(200);
    await simulator.seen.whenTokenAnswers(4);
    expect(simulator.seen.tokenRequests.map(({ clientId }) => clientId).slice(3)).toEqual(["blue-id"]);
    expect(simulator.counts()).toMatchObject({ accepted: 41, apiRequests: 41, tokensIssued: 2 });
  });

  it("is left when the first is accepted again", async () => {
    const { url, simulator, clock, expire, recorder } = await stageLiving({ oneSet: false });
    simulator.deleteCredentials("blue-id");
    expire();
    expect((await call(url)).status).toBe(200);
    simulator.restoreCredentials("blue-id");
    clock.push(10_000);
    expect((await call(url)).status).toBe(200);
    await recorder.nth("token_adopted", 3);
    expect((await call(url)).status).toBe(200);
    expect(recorder.of("credential_switched").map(({ to }) => to)).toEqual([`${oauthSite}/green`, `${oauthSite}/blue`]);
    expect(simulator.seen.apiRequests.at(-1)?.token).toBe("token_3");
  });

  it("is not asked for while the first one's token lives", async () => {
    const { url, simulator } = await stageLiving({ oneSet: false });
    simulator.deleteCredentials("blue-id");
    for (let n = 0; n < 20; n++) expect((await call(url)).status).toBe(200);
    expect(simulator.seen.tokenRequests.map(({ clientId }) => clientId)).toEqual(["blue-id"]);
  });
});
