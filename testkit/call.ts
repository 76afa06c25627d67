import { type IncomingHttpHeaders, type RequestOptions, request } from "node:http";
import { canaryAmount } from "./leaks/canaries.ts";
import { searchOutflow } from "./leaks/outflow.ts";

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
  /** The body as JSON; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly json: any;
}

/** Only the upstream service may ever receive these values. */
export const order = {
  order_amount: canaryAmount,
  order_currency: "EUR",
  site_customer_identifier: "canary-customer",
};

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
          const head = rawHeaders.join("\n");
          if (headers["countersign-error"] !== undefined) searchOutflow("failure answer", `${head}\n${text}`);
          else if (method === "GET") searchOutflow("admin or status page", `${head}\n${text}`);
          resolve({ status, headers, rawHeaders, text, json: parse(text) });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(bytes);
  });
}

/** Requests a page, for example of the admin or the status server. */
export function get(url: string, path: string, options: CallOptions = {}): Promise<Called> {
  return call(url, "", { method: "GET", path, ...options });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
