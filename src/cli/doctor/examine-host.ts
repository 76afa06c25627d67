import { type Check, skip } from "./check.ts";
import type { Host } from "./host.ts";
import { evaluateClock } from "./judge-clock.ts";
import { evaluateContact } from "./judge-contact.ts";
import { lookUp } from "./look-up.ts";
import { probe } from "./probe.ts";
import { type Run, timed } from "./run.ts";

/** However patient the configuration is: a visit has an end. */
const longestConnectMs = 5_000;
const answerMs = 5_000;

export interface HostReport {
  readonly checks: readonly Check[];
  readonly isReachable: boolean;
}

/** Name, connection and clock of one host, in this order, since each rests on the one before. */
export async function examineHost(host: Host, visit: Run): Promise<HostReport> {
  const { environment, address, name, setting } = host;
  const { clock, config } = visit;
  const place = `${address.host}:${address.port}`;
  const about = { environment: environment.name, subject: place };
  const connectMs = Math.min(config.timeouts.connectMs, longestConnectMs);
  const dns = await timed(visit, { ...about, topic: "dns", subject: name }, () => lookUp(host, connectMs, visit));
  if (dns.verdict === "fail") {
    const unknown = { ...about, ...skip("its address is not known"), tookMs: 0 };
    return { checks: [dns, { ...unknown, topic: "tls" }, { ...unknown, topic: "clock" }], isReachable: false };
  }
  const sinceMs = clock.nowMs();
  const contact = await probe(host, { connectMs, answerMs }, clock);
  const tookMs = Math.round((contact.connectedAtMs ?? clock.nowMs()) - sinceMs);
  const tlsSetting = `environments.${environment.name}.tls`;
  const to = { place, host: name, setting, tlsSetting, connectMs };
  const tls: Check = { ...about, topic: "tls", ...evaluateContact(contact, to, clock.wallMs()), tookMs };
  const { answer, code } = contact;
  const dated =
    answer === undefined ? skip(`HEAD / got no answer (${code}), so no Date to compare with`) : evaluateClock(answer);
  const isReachable = tls.verdict !== "fail";
  return { checks: [dns, tls, { ...about, topic: "clock", ...dated, tookMs: 0 }], isReachable };
}
