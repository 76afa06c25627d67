import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { keepRoomForNew } from "./keep-room-for-new.ts";
import { prefersGzip } from "./negotiate.ts";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** The request's headers that decided what it is; Accept-Encoding alone, where none is given. */
  readonly vary?: string;
  /** What a browser may do with it; nothing, where none is given. */
  readonly contentSecurityPolicy?: string;
}

/** A few probes and scrapers, and no crowd. One more takes the place of one on which nothing happens. */
const mostConnections = 64;
const requestTimeoutMs = 10_000;
/** How often the time is looked at. */
const checkEveryMs = 1_000;

/** Shorter answers fit into one packet anyway. */
const longestUncompressed = 1_400;
const gzipInBackground = promisify<string, object, Buffer>(gzip);

const noPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const foreignHost =
  "Nothing is shown under this name, since a hostile site can make any name point here. Use localhost or an IP address";

/**
 * A server for people and probes: it knows a few paths, only reads, and answers 404 or 405 to everything else.
 * @param mayRead whether a path may be read under this Host header; 403 where not
 * @param elseUse what to use instead of a foreign name, beside localhost and addresses
 */
export function createReadOnlyServer(
  pages: Readonly<Record<string, (asked: IncomingHttpHeaders) => Promise<Page>>>,
  mayRead: (path: string, host: string) => boolean,
  elseUse = "",
): Server {
  const known = new Map(Object.entries(pages));
  const times = {
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: checkEveryMs,
  };
  const server = createServer(times, (request, response) => {
    // Prometheus adds its `params` as a query.
    const [path = ""] = (request.url ?? "").split("?", 1);
    const page = known.get(path);
    if (!mayRead(path, request.headers.host ?? "")) {
      write(response, plain(403, `${foreignHost}${elseUse}.`));
    } else if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      write(response, plain(405, "Only GET and HEAD are answered here."));
    } else if (page === undefined) {
      write(response, plain(404, `Not here. This port has ${[...known.keys()].join(", ")}.`));
    } else {
      const { headers } = request;
      const make = async () => {
        const made = await page(headers);
        const isLong = made.text.length > longestUncompressed;
        return { made, packed: isLong && prefersGzip(headers["accept-encoding"]) ? await pack(made.text) : undefined };
      };
      make().then(
        ({ made, packed }) => write(response, made, packed),
        () => write(response, plain(500, "This page could not be made.")),
      );
    }
  });
  keepRoomForNew(server, mostConnections);
  return server;
}

export function plain(status: number, text: string): Page {
  return { status, contentType: "text/plain; charset=utf-8", text: `${text}\n` };
}

/** In a thread of its own, and fast: what goes over a pod's network need not be small. */
function pack(text: string): Promise<Buffer> {
  return gzipInBackground(text, { level: constants.Z_BEST_SPEED });
}

/**
 * A browser must not run, frame, keep or pass on what is shown.
 * @param packed the text as gzip, where it is sent so
 */
function write(response: ServerResponse, page: Page, packed?: Buffer): void {
  const { status, contentType, text, vary = "Accept-Encoding", contentSecurityPolicy = noPolicy } = page;
  const body = packed ?? Buffer.from(text);
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": body.length,
    ...(packed === undefined ? {} : { "Content-Encoding": "gzip" }),
    Vary: vary,
    "Cache-Control": "no-store",
    "Content-Security-Policy": contentSecurityPolicy,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
  });
  response.end(body);
}
