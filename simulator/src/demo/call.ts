import { request } from "node:http";

/** What the application of the demo sends: plain JSON, no credential. */
export interface DemoRequest {
  readonly method: "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, string | number | boolean>>;
}

/** What came back. */
export interface DemoAnswer {
  readonly status: number;
  readonly reason: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** No scene takes near as long. */
const timeoutMs = 30_000;

/** Calls as an application does: on a connection of its own, knowing nothing of Countersign but its address. */
export function call(url: string, { method, path, headers, body }: DemoRequest): Promise<DemoAnswer> {
  const bytes = Buffer.from(JSON.stringify(body));
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      path,
      signal,
      agent: false,
      headers: { ...headers, "content-length": bytes.length },
    });
    outgoing.on("error", reject);
    outgoing.on("response", async (incoming) => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of incoming) chunks.push(chunk);
      } catch (error) {
        reject(error);
        return;
      }
      const { statusCode: status = 0, statusMessage: reason = "" } = incoming;
      const lines = Object.entries(incoming.headersDistinct).map(([name, values = []]) => [name, values.join(", ")]);
      resolve({ status, reason, headers: Object.fromEntries(lines), body: Buffer.concat(chunks).toString("utf8") });
    });
    outgoing.end(bytes);
  });
}
