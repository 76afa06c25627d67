import { randomUUID } from "node:crypto";
import { createListener } from "../adapters/node-http/listener.ts";
import { describeBind } from "../bind.ts";
import type { Config, ListenerConfig } from "../config/config.ts";
import { Admission } from "../journey/admission.ts";
import { type JourneyParts, openJourney } from "../journey/handle.ts";
import type { Door } from "../journey/messages.ts";
import { loopbackHosts } from "../journey/target.ts";
import type { Placed } from "./servers.ts";

/** The listeners for applications. */
export interface Doors {
  readonly listeners: readonly Placed[];
  /** Requests being served now. */
  inFlight(): number;
  /** From now on connections end with their next answer. */
  announceClosing(): void;
  /** From now on requests are refused. */
  close(): void;
}

export function openDoors(config: Config, parts: Pick<JourneyParts, "clock" | "report" | "send" | "tokensOf">): Doors {
  const { limits, timeouts, log } = config;
  const environments = [...config.environments.keys()];
  const admissions = new Map(environments.map((name) => [name, new Admission(limits.inFlightPerEnvironment)]));
  let isDraining = false;

  const open = (listener: ListenerConfig): Placed => {
    const door = describeDoor(listener, config);
    const admission = known(admissions.get(listener.environment));
    const { requestMs: requestTimeoutMs } = timeouts;
    const { upstreamHeaders } = log;
    const journeyParts = { ...parts, admission, requestTimeoutMs, upstreamHeaders, newRequestId: randomUUID };
    const settings = { ...limits, clock: parts.clock, isDraining: () => isDraining };
    return { server: createListener(openJourney(journeyParts, door), settings), bind: listener.bind };
  };

  return {
    listeners: config.listeners.map(open),
    inFlight: () => [...admissions.values()].reduce((sum, { inFlight }) => sum + inFlight, 0),
    announceClosing() {
      isDraining = true;
    },
    close() {
      for (const admission of admissions.values()) admission.close();
    },
  };
}

/** What a listener's requests belong to, and by which names it may be called. */
function describeDoor({ bind, environment: name, hosts }: ListenerConfig, config: Config): Door {
  const environment = known(config.environments.get(name));
  const own = bind.kind === "tcp" && bind.host !== "" ? [bind.host.includes(":") ? `[${bind.host}]` : bind.host] : [];
  return {
    environment,
    hosts: new Set([...loopbackHosts, ...own, environment.baseUrl.host, ...hosts]),
    url: bind.kind === "tcp" ? `http://${describeBind(bind)}` : describeBind(bind),
  };
}

/** The configuration has checked that every listener's environment exists. */
function known<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("a listener names an environment that does not exist");
  return value;
}
