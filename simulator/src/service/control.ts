import { type Answer, answerJson, sendAnswer } from "./answer.ts";
import { type CallbackOrder, readCallbackOrder, type SentCallback } from "./callback.ts";
import type { Counts } from "./counts.ts";
import { readFault } from "./fault.ts";
import type { Faults, PlannedFault } from "./faults.ts";
import type { Exchange } from "./listening-host.ts";
import { readBody } from "./request-body.ts";

/** Path of the control endpoint on the API port, outside the base path. */
export const controlPath = "/simulator";

/** Whether a request target is the control endpoint's. */
export function isControl(target = ""): boolean {
  return target === controlPath || target.startsWith(`${controlPath}/`);
}

/** The simulator's functions that are offered over HTTP: all except those that would close this port. */
export interface Controlled {
  readonly faults: Faults;
  counts(): Counts;
  revokeAllTokens(): void;
  /** For tokens issued from now on. */
  setTokenLifetimeSeconds(lifetimeSeconds: number): void;
  /** @throws Error when no set has this client id; so do the next two functions */
  deleteCredentials(clientId: string): void;
  restoreCredentials(clientId: string): void;
  changeClientSecret(clientId: string, clientSecret: string): void;
  /** Sends a callback, genuine or forged. @throws Error when the site has no key */
  sendCallback(order: CallbackOrder): Promise<SentCallback>;
  /** Refuses new connections and ends the open ones. */
  stopLogin(): Promise<void>;
  /** Listens on the same port again. */
  startLogin(): Promise<void>;
}

type Input = Readonly<Record<string, unknown>>;
type Action = (simulator: Controlled, input: Input) => unknown;

/** Large enough for a fault whose body is a huge answer. */
const bodyLimitBytes = 16_777_216;

const actions: Readonly<Record<string, Action>> = {
  "GET /simulator": (simulator) => simulator.counts(),
  "GET /simulator/faults": (simulator) => simulator.faults.list().map(describeFault),
  "POST /simulator/faults": (simulator, input) => describeFault(simulator.faults.add(readFault(input))),
  "DELETE /simulator/faults": (simulator) => simulator.faults.clear(),
  "POST /simulator/faults/release": (simulator) => simulator.faults.release(),
  "POST /simulator/revoke-tokens": (simulator) => simulator.revokeAllTokens(),
  "POST /simulator/token-lifetime": (simulator, input) =>
    simulator.setTokenLifetimeSeconds(read(input, "seconds", "number") as number),
  "POST /simulator/callback": (simulator, input) => simulator.sendCallback(readCallbackOrder(input)),
  "POST /simulator/login/stop": (simulator) => simulator.stopLogin(),
  "POST /simulator/login/start": (simulator) => simulator.startLogin(),
  "POST /simulator/credentials/delete": (simulator, input) =>
    simulator.deleteCredentials(read(input, "clientId", "string") as string),
  "POST /simulator/credentials/restore": (simulator, input) =>
    simulator.restoreCredentials(read(input, "clientId", "string") as string),
  "POST /simulator/credentials/secret": (simulator, input) =>
    simulator.changeClientSecret(
      read(input, "clientId", "string") as string,
      read(input, "clientSecret", "string") as string,
    ),
};

/** Serves one request to the control endpoint; it is not part of the service, and its requests are not counted. */
export async function serveControl({ request, response }: Exchange, simulator: Controlled): Promise<void> {
  const name = `${request.method} ${request.url}`;
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  const body = await readBody(request, bodyLimitBytes);
  await sendAnswer(response, await carryOut(action, body, simulator));
}

async function carryOut(action: Action | undefined, body: unknown, simulator: Controlled): Promise<Answer> {
  if (action === undefined) return answerJson(404, { error: "no such control", accepted: Object.keys(actions) });
  try {
    return answerJson(200, (await action(simulator, readInput(body))) ?? { status: "ok" });
  } catch (error) {
    return answerJson(400, { error: error instanceof Error ? error.message : String(error) });
  }
}

function readInput(body: unknown): Input {
  if (!Buffer.isBuffer(body)) throw new Error(`the body is larger than ${bodyLimitBytes} bytes`);
  if (body.length === 0) return {};
  let input: unknown;
  try {
    input = JSON.parse(body.toString("utf8"));
  } catch {
    throw new Error("the body is not JSON");
  }
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return { ...input };
  throw new Error("the body is not a JSON object");
}

function read(input: Input, name: string, type: "string" | "number"): unknown {
  const value = input[name];
  if (typeof value === type) return value;
  throw new Error(`the body must be {"${name}": <${type}>}`);
}

function describeFault({ id, fault, played, remaining }: PlannedFault) {
  return { id, fault, played, remaining };
}
