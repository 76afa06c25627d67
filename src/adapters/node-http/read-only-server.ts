import { createServer, type Server, type ServerResponse } from "node:http";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

const requestTimeoutMs = 10_000;

/** A server for people and probes: it knows a few paths, only reads, and answers 404 or 405 to everything else. */
export function createReadOnlyServer(pages: Readonly<Record<string, () => Promise<Page>>>): Server {
  const known = new Map(Object.entries(pages));
  return createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    const page = known.get(request.url ?? "");
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
