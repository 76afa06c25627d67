import type { ConnectionOptions } from "node:tls";
import type { Caller, Callers } from "../../../src/model/listener.ts";
import { Secret } from "../../../src/model/secret.ts";
import { callersAuthority } from "../../../testkit/caller-certificates.ts";
import { authority, clientKey } from "../../../testkit/certificates.ts";
import { type StageOptions, stageProxy } from "../../../testkit/stage.ts";

import { listenerTls } from "./caller-over-tls.ts";

export const token = "canary-caller-token-new";
/** What the other one replaces. */
export const older = "canary-caller-token-old";

const anyPort = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;

/** The whole proxy, whose listener asks who calls, also on loopback. */
export function stageWithCallers(callers: Callers, { config, ...options }: StageOptions = {}) {
  const listeners = [{ bind: anyPort, environment: "sandbox", hosts: [], callers }];
  return stageProxy({ ...options, config: { listeners, ...config } });
}

/** What a caller of these tests may do, unless they say less. */
const allRights = {
  tokens: [],
  certificates: [],
  sites: "any",
  operations: "any",
  requestsPerSecond: undefined,
} as const;

/** One caller, `orders`, who gives `token`. */
export function stageWithCaller(rights: Partial<Caller>, options: StageOptions = {}) {
  const orders: Caller = { ...allRights, name: "orders", tokens: [new Secret(token)], ...rights };
  return stageWithCallers({ kind: "named", callers: [orders], tls: undefined }, options);
}

/** The caller `payments`, whose certificate is that of `known`. */
export const payments = {
  kind: "named",
  tls: listenerTls,
  callers: [{ ...allRights, name: "payments", certificates: ["URI:spiffe://prod.example/ns/pay/sa/payments"] }],
} satisfies Callers;

/** Callers by a name of their certificates, of the authority that signed those of caller-certificates.ts. */
export function byCertificate(...callers: readonly (Partial<Caller> & Pick<Caller, "name">)[]): Callers {
  const tls = { ...listenerTls, ca: callersAuthority };
  return { kind: "named", tls, callers: callers.map((caller) => ({ ...allRights, ...caller })) };
}

/** A client of such a listener. */
export function clientWith(cert: string): ConnectionOptions {
  return { ca: authority, cert, key: clientKey };
}

export function stageWithTokens(options: StageOptions = {}) {
  const callers = [
    { ...allRights, name: "orders", tokens: [new Secret(token)] },
    { ...allRights, name: "orders-before", tokens: [new Secret(older)] },
  ];
  return stageWithCallers({ kind: "named", callers, tls: undefined }, options);
}
