import { createServer, type Server, type ServerResponse } from "node:http";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** A few probes and scrapers, and no crowd. */
const mostConnections = 64;
const requestTimeoutMs = 10_000;
/** How often the time is looked at. */
const checkEveryMs = 1_000;

/** A server for people and probes: it knows a few paths, only reads, and answers 404 or 405 to everything else. */
export function createReadOnlyServer(pages: Readonly<Record<string, () => Promise<Page>>>): Server {
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
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      write(response, plain(405, "Only GET and HEAD are answered here."));
    } else if (page === undefined) {
      write(response, plain(404, `Not here. This port has ${[...known.keys()].join(", ")}.`));
    } else {
      page().then(
        (made) => write(response, made),
        () => write(response, plain(500, "This page could not be made.")),
      );
    }
  });
  server.maxConnections = mostConnections;
  return server;
}

export function plain(status: number, text: string): Page {
  return { status, contentType: "text/plain; charset=utf-8", text: `${text}\n` };
}

function write(response: ServerResponse, { status, contentType, text }: Page): void {
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(text),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(text);
}
