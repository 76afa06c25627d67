import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/** What the application of the demo sends: plain JSON, no credential. */
export interface DemoRequest {
  readonly method: "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, string | number | boolean>>;
}

/** The answer that came back. */
export interface DemoAnswer {
  readonly status: number;
  readonly reason: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** No scene takes nearly as long. */
const timeoutMs = 30_000;

/** Calls as an application does: on its own connection, knowing only Countersign's address. */
export async function call(url: string, { method, path, headers, body }: DemoRequest): Promise<DemoAnswer> {
  const bytes = Buffer.from(JSON.stringify(body));
  const signal = AbortSignal.timeout(timeoutMs);
  const given = { ...headers, "content-length": bytes.length };
  const outgoing = request(url, { method, path, signal, agent: false, headers: given });
  // A failure after the head of the answer also fails the reading of the body.
  outgoing.on("error", () => {}).end(bytes);
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  const { statusCode: status = 0, statusMessage: reason = "" } = incoming;
  const lines = Object.entries(incoming.headersDistinct).map(([name, values = []]) => [name, values.join(", ")]);
  return { status, reason, headers: Object.fromEntries(lines), body: await text(incoming) };
}
