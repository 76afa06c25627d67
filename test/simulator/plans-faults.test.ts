import { describe, expect, test } from "vitest";
import { askForToken, childCredentials, obtainToken, orderWithToken, stage, stageFault } from "./stage.ts";

describe("the plan", () => {
  const unavailable = { kind: "answer", status: 503 } as const;

  test("plays faults in their order, each as often as asked", async () => {
    const { simulator, token } = await stageFault({ ...unavailable, times: 2 });
    simulator.faults.add({ host: "api", kind: "reset", when: "before_reading" });
    simulator.faults.add({ host: "api", kind: "answer", status: 429 });
    const answers = [];
    for (let at = 0; at < 5; at += 1) {
      const { status, error } = await orderWithToken(simulator, token);
      answers.push(status ?? error);
    }
    expect(answers).toEqual([503, 503, "read ECONNRESET", 429, 200]);
    expect(simulator.faults.list()).toEqual([]);
  });

  test("goes on until cleared, and tells how often", async () => {
    const simulator = await stage();
    const fault = simulator.faults.add({ host: "login", times: "until_cleared", ...unavailable });
    const played = fault.whenPlayed(3);
    for (let at = 0; at < 3; at += 1) expect((await askForToken(simulator)).status).toBe(503);
    await played;
    expect(fault).toMatchObject({ played: 3, remaining: "until_cleared" });
    fault.clear();
    expect((await askForToken(simulator)).status).toBe(200);
  });

  test("meets only the site it is for, however that is named", async () => {
    const { simulator, token } = await stageFault({ ...unavailable, site: "S2", times: "until_cleared" });
    expect((await orderWithToken(simulator, token, "S1")).status).toBe(200);
    expect((await orderWithToken(simulator, token, "S2")).status).toBe(503);
    expect((await orderWithToken(simulator, token, "K2")).status).toBe(503);
    simulator.faults.clear();
    simulator.faults.add({ host: "api", ...unavailable, site: "K2", times: "until_cleared" });
    expect((await orderWithToken(simulator, token, "S2")).status).toBe(200);
    expect((await orderWithToken(simulator, token, "K2")).status).toBe(503);
  });

  test("meets only the client it is for", async () => {
    const simulator = await stage();
    const parentToken = await obtainToken(simulator);
    const childToken = await obtainToken(simulator, childCredentials);
    for (const host of ["api", "login"] as const) {
      simulator.faults.add({ host, ...unavailable, clientId: "child-client", times: "until_cleared" });
    }
    expect((await orderWithToken(simulator, parentToken, "S3")).status).toBe(200);
    expect((await orderWithToken(simulator, childToken, "S3")).status).toBe(503);
    expect((await askForToken(simulator)).status).toBe(200);
    expect((await askForToken(simulator, childCredentials)).status).toBe(503);
  });

  test("refuses what makes no sense", async () => {
    const { faults } = await stage();
    expect(() => faults.add({ host: "api", kind: "answer", status: 99 })).toThrow("status must be a whole number");
    expect(() => faults.add({ host: "api", kind: "answer", status: 200, headers: { a: "b\r\nc" } })).toThrow("headers");
    expect(() => faults.add({ host: "api", kind: "hang", times: 0 })).toThrow("times");
    expect(() => faults.add({ host: "api", kind: "raw", bytes: "€" })).toThrow("bytes");
  });
});
