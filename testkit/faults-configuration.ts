import type { Simulator } from "../simulator/src/service/simulator.ts";

export const sites = { oauth: "S1000000001", hmac: "S1000000003" } as const;
export const audience = "https://api.sandbox.example";

/** Both ways of authentication, Redis and tracing; `DIR` stands for the folder of the secrets. */
export function configuration(
  simulator: Simulator,
  socketPath: string,
  redisUrl: string,
  more: {
    readonly listeners?: readonly string[];
    readonly callbacks?: string;
    readonly requestSeconds?: number;
    /** Longest wait for a connection, and for a token. */
    readonly waitSeconds?: number;
    readonly tracing?: string;
    /** Another environment, `out`. */
    readonly out?: string;
  } = {},
): string {
  const { listeners = [], callbacks = "[]", requestSeconds = 2, waitSeconds = 1, tracing = "", out } = more;
  const all = [`{ bind: "unix:${socketPath}", environment: sandbox }`, ...listeners];
  return `listeners: [ ${all.join(", ")} ]
callbacks: ${callbacks}
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${simulator.apiUrl}
    authUrl: ${simulator.loginUrl}
    allowPlaintext: true
    operations: [create_order]
    passThrough: [ { prefix: /files/, methods: [GET, PUT], site: ${sites.oauth}, upgrade: websocket, idleTimeout: 2s } ]
    defaultSite: ${sites.hmac}
    sites:
      ${sites.hmac}: { keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ] }
      ${sites.oauth}:
        credentials:
          - { name: blue, dir: DIR/blue }
          - { name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: "${audience}" }
${out === undefined ? "" : `  out: ${out}\n`}timeouts: { request: ${requestSeconds}s, connect: ${waitSeconds}s, token: ${waitSeconds}s }
tokens: { cache: redis }
redis: { url: "${redisUrl}", encryptionKeys: [ { file: DIR/token-key } ] }
${tracing}
`;
}
