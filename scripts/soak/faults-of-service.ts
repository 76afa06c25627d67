import type { Fault as Misbehaviour } from "../../simulator/src/service/fault.ts";
import type { Fault } from "./fault.ts";
import { hmacSite, requestTimeoutMs } from "./folder.ts";

const sprinkleEveryMs = 40;

export const faultsOfService: readonly Fault[] = [
  {
    name: "service away",
    allows: ["upstream_unreachable not_sent", "upstream_reset unknown"],
    feltAfterMs: 0,
    tokens: 0,
    async begin({ simulator }) {
      await simulator.stopApi();
      return () => simulator.startApi();
    },
  },
  sprinkled(
    "service resets connections",
    ["upstream_reset unknown"],
    [
      { host: "api", kind: "reset", when: "before_reading" },
      { host: "api", kind: "reset", when: "after_reading" },
    ],
  ),
  sprinkled(
    "service breaks its answers off",
    ["cut unknown", "upstream_reset unknown", "upstream_bad_response unknown"],
    [
      { host: "api", kind: "reset", when: "mid_answer" },
      { host: "api", kind: "truncate" },
      { host: "api", kind: "raw", bytes: "HTTP/9.9 malformed\r\n\r\n" },
    ],
  ),
  {
    ...lasting("service too slow for one site", ["upstream_timeout unknown"], {
      host: "api",
      kind: "delay",
      delayMs: 2 * requestTimeoutMs,
      site: hmacSite,
    }),
    feltAfterMs: requestTimeoutMs,
  },
  lasting("service answers 503", ["service 503"], { host: "api", kind: "answer", status: 503 }),
  {
    name: "half of the callers leave",
    allows: [],
    tokens: 0,
    async begin({ simulator, callers }) {
      const planned = simulator.faults.add({ host: "api", kind: "delay", delayMs: 100, times: "until_cleared" });
      callers.leavingShare = 0.5;
      return async () => {
        callers.leavingShare = 0;
        planned.clear();
      };
    },
  },
];

/** All requests meet it. */
function lasting(name: string, allows: readonly string[], misbehaviour: Misbehaviour): Fault {
  return {
    name,
    allows,
    feltAfterMs: 0,
    tokens: 0,
    async begin({ simulator }) {
      const planned = simulator.faults.add({ ...misbehaviour, times: "until_cleared" });
      return async () => planned.clear();
    },
  };
}

/** Now and then a request meets one of them, in turn. */
function sprinkled(name: string, allows: readonly string[], misbehaviours: readonly Misbehaviour[]): Fault {
  return {
    name,
    allows,
    feltAfterMs: 0,
    tokens: 0,
    async begin({ simulator }) {
      let turn = 0;
      const timer = setInterval(() => {
        const next = misbehaviours[turn++ % misbehaviours.length];
        if (next !== undefined) simulator.faults.add(next);
      }, sprinkleEveryMs);
      return async () => {
        clearInterval(timer);
        simulator.faults.clear();
      };
    },
  };
}
