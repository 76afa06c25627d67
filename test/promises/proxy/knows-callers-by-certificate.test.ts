/** Row 80: of those that have a certificate of a known authority, the configured ones come in, and no others. */
import { describe, expect, it } from "vitest";
import type { Caller } from "../../../src/model/listener.ts";
import {
  bothCertificate,
  hostileCertificate,
  namelessCertificate,
  paymentsCertificate,
  reportsCertificate,
  strangerCertificate,
} from "../../../testkit/caller-certificates.ts";
import { clientCertificate } from "../../../testkit/certificates.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { logOf } from "../../../testkit/log-lines.ts";
import { hmacSite } from "../../../testkit/stage.ts";
import { callSecurely, keptConnection, troubleOf } from "./caller-over-tls.ts";
import { byCertificate, clientWith, stageWithCallers } from "./stage-with-callers.ts";

type Known = Partial<Caller> & Pick<Caller, "name">;

const payments = { name: "payments", certificates: ["URI:spiffe://prod.example/ns/pay/sa/payments"] };
const reports = { name: "reports", certificates: ["URI:urn:reports", "DNS:reports.example"] };
const stage = () => stageWithCallers(byCertificate(payments, reports));

it.each([
  ["payments", paymentsCertificate],
  ["reports", reportsCertificate],
])("serves %s, whose name stands in the log", async (name, certificate) => {
  const { port, recorder, simulator } = await stage();
  expect((await callSecurely(port, clientWith(certificate))).status).toBe(200);
  await recorder.nth("request_finished", 1);
  expect(logOf(recorder.events, "info").of("request_finished")).toMatchObject([{ caller: name, status: 200 }]);
  expect(simulator.counts()).toMatchObject({ accepted: 1 });
});

describe("refuses, before anything is sent,", () => {
  it.each([
    [
      "a workload that nobody has configured",
      strangerCertificate,
      /names no caller.*URI:spiffe:.*payments2;/,
      "unknown certificate",
    ],
    [
      "a certificate whose subject alone has the name",
      namelessCertificate,
      /no URI and no DNS name/,
      "unknown certificate",
    ],
    [
      "names that contain others",
      hostileCertificate,
      /names no caller.* It has DNS:\*\.example;/,
      "unknown certificate",
    ],
    ["a certificate of two callers", bothCertificate, /names several callers/, "certificate of several callers"],
  ])("%s", async (_, certificate, detail, cause) => {
    const { port, simulator, recorder } = await stage();
    const answer = await callSecurely(port, clientWith(certificate), { "Proxy-Authorization": "Bearer x" });
    expectFailure(answer, { status: 403, code: "caller_not_known", detail });
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ cause, stage: "check_caller" });
    expect(simulator.counts().apiRequests).toBe(0);
    const [line] = logOf(recorder.events, "info").of("request_finished");
    expect(line.caller).toMatch(/^(CN=|URI:)/);
    expect(line.operation).toBeUndefined();
  });

  it("a certificate of another authority, in the handshake", async () => {
    const { port, recorder } = await stage();
    expect(await troubleOf(port, clientWith(clientCertificate))).toBe("ECONNRESET");
    expect(recorder.count("request_finished")).toBe(0);
  });
});

it("asks anew with each request: what is configured holds on connections that are open", async () => {
  const { port, proxy, config, simulator } = await stage();
  const kept = keptConnection(clientWith(paymentsCertificate));
  expect((await kept(port)).status).toBe(200);
  const apply = async (hash: string, ...callers: readonly Known[]) => {
    const listeners = config.listeners.map((listener) => ({ ...listener, callers: byCertificate(...callers) }));
    await proxy.apply({ ...config, hash, listeners }, "file_change");
    return kept(port);
  };
  const narrowed = await apply("1", { ...payments, sites: new Set([hmacSite]) }, reports);
  expectFailure(narrowed, { status: 403, code: "caller_not_allowed", detail: /^Caller payments may not use site/ });
  const removed = await apply("2", reports);
  expectFailure(removed, { status: 403, code: "caller_not_known", detail: /names no caller/ });
  expect([narrowed, removed].map((each) => each.isSameConnection)).toEqual([true, true]);
  expect((await apply("3", { ...payments, name: "pay" }, reports)).status).toBe(200);
  expect(simulator.counts().apiRequests).toBe(2);
});
