import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import type { Caller, Callers, CallersTls } from "../../../src/model/listener.ts";
import { Secret } from "../../../src/model/secret.ts";
import { order } from "../../../testkit/call.ts";
import { callersAuthority, paymentsCertificate } from "../../../testkit/caller-certificates.ts";
import { authority, clientKey, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { type StageOptions, stageProxy } from "../../../testkit/stage.ts";

export const token = "canary-caller-token-new";
/** What the other one replaces. */
export const older = "canary-caller-token-old";

/** What a listener is given in these tests. It trusts its own authority, too, as far as certificates of callers go. */
export const listenerTls: CallersTls = {
  ca: `${authority}${callersAuthority}`,
  cert: serverCertificate,
  key: new Secret(serverKey),
};

/** A caller that has a certificate of its authority, and that knows the listener by the other one. */
export const known: ConnectionOptions = { ca: authority, cert: paymentsCertificate, key: clientKey };

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
  return { ...known, cert };
}

export function stageWithTokens(options: StageOptions = {}) {
  const callers = [
    { ...allRights, name: "orders", tokens: [new Secret(token)] },
    { ...allRights, name: "orders-before", tokens: [new Secret(older)] },
  ];
  return stageWithCallers({ kind: "named", callers, tls: undefined }, options);
}

export interface SecurelyCalled {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly isSameConnection: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  readonly json: any;
}

/** One order over TLS; on a connection of its own without an agent. */
export async function callSecurely(
  port: number,
  options: ConnectionOptions & { readonly agent?: Agent } = known,
  more: Readonly<Record<string, string>> = {},
): Promise<SecurelyCalled> {
  const { agent = false, ...tls } = options;
  const outgoing = request({
    ...tls,
    agent,
    host: "localhost",
    port,
    path: "/create_order",
    method: "POST",
    headers: { "Content-Type": "application/json", ...more },
  });
  outgoing.end(JSON.stringify(order));
  const [incoming] = await once(outgoing, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { statusCode: status, headers } = incoming;
  const text = String(Buffer.concat(chunks));
  return { status, headers, isSameConnection: outgoing.reusedSocket, text, json: JSON.parse(text) };
}

/** The code of the error that a call ends with; undefined when it was answered. */
export function troubleOf(port: number, options: ConnectionOptions): Promise<string | undefined> {
  return callSecurely(port, options).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
}

/** Calls over one connection, one after the other. It closes with the test. */
export function keptConnection(options: ConnectionOptions = known) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return (port: number) => callSecurely(port, { ...options, agent });
}

/** A connection whose bytes the test writes itself, once its handshake is done. It closes with the test. */
export async function openSecurely(port: number, options: ConnectionOptions = known): Promise<TLSSocket> {
  const socket = connect({ ...options, host: "localhost", port });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}
