import type { Callers } from "../../src/model/listener.ts";
import { Secret } from "../../src/model/secret.ts";
import { type StageOptions, stageProxy } from "../../testkit/stage.ts";

export const token = "canary-caller-token-new";
/** What the other one replaces. */
export const older = "canary-caller-token-old";

const anyPort = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;

/** The whole proxy, whose listener asks who calls, also on loopback. */
export function stageWithCallers(callers: Callers, { config, ...options }: StageOptions = {}) {
  const listeners = [{ bind: anyPort, environment: "sandbox", hosts: [], callers }];
  return stageProxy({ ...options, config: { listeners, ...config } });
}

export function stageWithTokens(options: StageOptions = {}) {
  const tokens = [
    { name: "orders", token: new Secret(token) },
    { name: "orders-before", token: new Secret(older) },
  ];
  return stageWithCallers({ kind: "tokens", tokens }, options);
}
