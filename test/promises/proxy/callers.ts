import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import type { Caller, Callers, CallersTls } from "../../../src/model/listener.ts";
import { Secret } from "../../../src/model/secret.ts";
import { order } from "../../../testkit/call.ts";
import { callersAuthority, paymentsCertificate } from "../../../testkit/caller-certificates.ts";
import { authority, clientKey, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { type StageOptions, stage } from "../../../testkit/stage.ts";

export const token = "canary-caller-token-new";
/** The former token, which `token` replaces. */
export const older = "canary-caller-token-old";

/** The TLS settings of these tests' listeners. Callers' certificates may also come from the listener's own authority. */
export const listenerTls: CallersTls = {
  ca: `${authority}${callersAuthority}`,
  cert: serverCertificate,
  key: new Secret(serverKey),
};

/** A caller with a certificate of the callers' authority, which trusts the listener's authority. */
export const known: ConnectionOptions = { ca: authority, cert: paymentsCertificate, key: clientKey };

export const anyPort = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;

/** The whole proxy, whose listener identifies its callers, also on loopback. */
export function stageWithCallers(callers: Callers, { config, ...options }: StageOptions = {}) {
  const listeners = [{ bind: anyPort, environment: "sandbox", hosts: [], callers }];
  return stage({ ...options, config: { listeners, ...config } });
}

/** The rights of these tests' callers, unless a test gives fewer. */
export const allRights = {
  tokens: [],
  certificates: [],
  sites: "any",
  operations: "any",
  requestsPerSecond: undefined,
} as const;

/** The proxy with one caller, `orders`, whose token is `token`. */
export function stageWithCaller(rights: Partial<Caller>, options: StageOptions = {}) {
  const orders: Caller = { ...allRights, name: "orders", tokens: [new Secret(token)], ...rights };
  return stageWithCallers({ kind: "named", callers: [orders], tls: undefined }, options);
}

/** The caller `payments`, which has the certificate in `known`. */
export const payments = {
  kind: "named",
  tls: listenerTls,
  callers: [{ ...allRights, name: "payments", certificates: ["URI:spiffe://prod.example/ns/pay/sa/payments"] }],
} satisfies Callers;

/** Callers that are identified by a name in their certificates, whose authority is that of caller-certificates.ts. */
export function byCertificate(...callers: readonly (Partial<Caller> & Pick<Caller, "name">)[]): Callers {
  const tls = { ...listenerTls, ca: callersAuthority };
  return { kind: "named", tls, callers: callers.map((caller) => ({ ...allRights, ...caller })) };
}

/** The connection options of a client of such a listener. */
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

/** One order over TLS; without an agent on a new connection. */
export async function callSecurely(
  port: number,
  options: ConnectionOptions & { readonly agent?: Agent } = known,
  more: Readonly<Record<string, string>> = {},
) {
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
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { statusCode: status = 0, headers } = incoming;
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
