import { type Environment, placeOf, withoutBrackets } from "../../model/environment.ts";
import { type Check, type Run, timed } from "./check.ts";
import { checkDns } from "./dns.ts";
import { checkConnection, type Destination } from "./tls.ts";

/**
 * Whether the forward proxy of an environment takes connections; nothing where it has none. What it lets through is seen where the hosts
 * behind it are checked.
 * @param connectMs the longest that connecting may take
 */
export async function checkEgress({ name, egress }: Environment, connectMs: number, run: Run): Promise<Check[]> {
  if (egress === undefined) return [];
  const { proxy, tls } = egress;
  const setting = `environments.${name}.egress`;
  const to: Destination = {
    place: placeOf(proxy),
    host: withoutBrackets(proxy.host),
    setting,
    tlsSetting: `${setting}.tls`,
    connectMs,
  };
  const about = { topic: "egress" as const, environment: name };
  const dns = await timed(run, { ...about, subject: to.host }, () => checkDns(to, run));
  if (dns.verdict === "fail") return [dns];
  return [dns, await timed(run, { ...about, subject: to.place }, () => checkConnection(proxy, tls, to, run))];
}
