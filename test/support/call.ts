import { type IncomingHttpHeaders, type RequestOptions, request } from "node:http";

export interface CallOptions {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly agent?: RequestOptions["agent"];
  /** Calls over this Unix socket. */
  readonly socketPath?: string;
}

export interface Called {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly text: string;
  /** The body as JSON; undefined when it is not. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  readonly json: any;
}

export const order = { order_amount: "10.00", order_currency: "EUR", site_customer_identifier: "customer_1" };

/** One call on a connection of its own, as an application makes it: plain JSON. */
export function call(url: string, body: unknown = order, options: CallOptions = {}): Promise<Called> {
  const { path = "/create_order", method = "POST", headers = {}, agent = false, socketPath } = options;
  const bytes =
    typeof body === "string"
      ? Buffer.from(body)
      : body instanceof Uint8Array
        ? body
        : Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        path,
        method,
        agent,
        ...(socketPath === undefined ? {} : { socketPath }),
        headers: { "content-type": "application/json", "content-length": String(bytes.length), ...headers } as Record<
          string,
          string
        >,
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("aborted", () => reject(new Error("the answer was cut")));
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          const { statusCode: status = 0, headers, rawHeaders } = incoming;
          resolve({ status, headers, rawHeaders, text, json: parse(text) });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(bytes);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
