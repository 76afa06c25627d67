import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { isIPv4, isIPv6, type Socket } from "node:net";
import { hostname } from "node:os";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { callerHost } from "../../model/listener.ts";
import { longestWaiting } from "./make-room.ts";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** The request's headers that decided what it is; Accept-Encoding alone, where none is given. */
  readonly vary?: string;
  /** What a browser may do with it; nothing, where none is given. */
  readonly contentSecurityPolicy?: string;
}

/** Enough for probes and scrapers. */
const mostConnections = 64;
const times = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 };

/** Shorter answers fit into one packet anyway. */
const longestUncompressed = 1_400;
/** In a thread of its own, and fast: what goes over a pod's network need not be small. */
const gzipInBackground = promisify<string, object, Buffer>(gzip);
const fast = { level: constants.Z_BEST_SPEED };

const noPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const foreignHost =
  "Nothing is shown under this name, since a hostile site can make any name point here. Use localhost or an IP address";

/**
 * A server for people and probes: it knows a few paths, only reads, and answers 404 or 405 to everything else.
 * @param mayRead whether a path may be read under this Host header; 403 where not
 * @param elseUse what to use instead of a foreign name, beside localhost and addresses
 */
function createReadOnlyServer(
  pages: Readonly<Record<string, (headers: IncomingHttpHeaders) => Promise<Page>>>,
  mayRead: (path: string, host: string) => boolean,
  elseUse = "",
): Server {
  const known = new Map(Object.entries(pages));
  const server = createServer(times, ({ url = "", method, headers }, response) => {
    // Prometheus adds its `params` as a query.
    const [path = ""] = url.split("?", 1);
    const make = known.get(path);
    if (!mayRead(path, headers.host ?? "")) {
      write(response, plain(403, `${foreignHost}${elseUse}.`));
    } else if (method !== "GET" && method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      write(response, plain(405, "Only GET and HEAD are answered here."));
    } else if (make === undefined) {
      write(response, plain(404, `Not here. This port has ${[...known.keys()].join(", ")}.`));
    } else {
      respond(response, make, headers).catch(() => write(response, plain(500, "This page could not be made.")));
    }
  });
  replaceOldest(server);
  return server;
}

async function respond(
  response: ServerResponse,
  make: (headers: IncomingHttpHeaders) => Promise<Page>,
  headers: IncomingHttpHeaders,
): Promise<void> {
  const page = await make(headers);
  const isPacked = page.text.length > longestUncompressed && prefersGzip(headers["accept-encoding"]);
  write(response, page, isPacked ? await gzipInBackground(page.text, fast) : undefined);
}

export function plain(status: number, text: string): Page {
  return { status, contentType: "text/plain; charset=utf-8", text: `${text}\n` };
}

/**
 * Whether a Host header is `localhost` or an address, with or without a port. Any other name may be an attacker's that was
 * made to point here: with it, the page of a hostile site could read this port (DNS rebinding). An address cannot be
 * pointed anywhere else.
 * @param names further names to answer to, in lower case
 */
export function isOwnHost(host: string, names: Iterable<string> = []): boolean {
  const [, ipv6, name = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(host) ?? [];
  if (ipv6 !== undefined) return isIPv6(ipv6);
  return isIPv4(name) || ["localhost", ...names].includes(name.toLowerCase());
}

/** A connection of a person or a probe. */
function readerOn(socket: Socket, touched: number) {
  return {
    socket,
    owner: callerHost(socket.remoteAddress),
    /** Responses that are under way on it. */
    responses: 0,
    /** When something last happened on it: the order counts, not the time. */
    touched,
    get waitsSince(): number | undefined {
      return this.responses === 0 ? this.touched : undefined;
    },
  };
}

/** Bounds the connections of a server, and yet never refuses a new one: another gives way, one that waits if there is any. */
function replaceOldest(server: Server): void {
  const connections = new Map<Socket, ReturnType<typeof readerOn>>();
  let touches = 0;
  server.on("connection", (socket: Socket) => {
    const added = readerOn(socket, touches++);
    if (connections.size >= mostConnections) {
      const all = [...connections.values()];
      const busy = all.map(({ socket, owner, touched }) => ({ socket, owner, waitsSince: touched }));
      const oldest = longestWaiting(all, added.owner) ?? longestWaiting(busy, added.owner);
      if (oldest !== undefined) connections.delete(oldest.socket);
      oldest?.socket.destroy();
    }
    connections.set(socket, added);
    socket.once("close", () => connections.delete(socket));
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const touch = (change: number) => {
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connection.responses += change;
      connection.touched = touches++;
    };
    touch(1);
    response.once("close", () => touch(-1));
  });
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

/** One of the values of an Accept header or its like: `text/plain;version=0.0.4;q=0.3`. */
interface Preference {
  /** In lower case, without parameters. */
  readonly name: string;
  /** By name in lower case; without quotes. */
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 (not at all) to 1, RFC 9110 section 12.4.2; 1 where none is given, 0 where it is not a number. */
  readonly weight: number;
}

/** Reads a header of content negotiation (RFC 9110 section 12.5). What is malformed is not wanted. */
function readPreferences(header: string | undefined): readonly Preference[] {
  return (header ?? "").split(",").flatMap((each) => {
    const [name = "", ...rest] = each.split(";").map((part) => part.trim());
    if (name === "") return [];
    const parameters = new Map(rest.map(readParameter));
    return [{ name: name.toLowerCase(), parameters, weight: readWeight(parameters.get("q")) }];
  });
}

/** Whether a reader takes gzip, and would not rather have the plain text. */
export function prefersGzip(acceptEncoding: string | undefined): boolean {
  const preferences = readPreferences(acceptEncoding);
  const gzip = weightOf(preferences, "gzip", "x-gzip", "*");
  return gzip > 0 && gzip >= weightOf(preferences, "identity");
}

const openMetrics = "application/openmetrics-text";

/** Whether a scraper asks for OpenMetrics 1.0.0 by name, and not for the text format before it. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  const preferences = readPreferences(accept);
  const isOurs = ({ name, parameters }: Preference) =>
    name === openMetrics && (parameters.get("version") ?? "1.0.0") === "1.0.0";
  const asked = Math.max(0, ...preferences.filter(isOurs).map(({ weight }) => weight));
  return asked > 0 && asked >= weightOf(preferences, "text/plain", "text/*", "*/*");
}

/** The weight of the first of these names that is there; 0 where none is. */
function weightOf(preferences: readonly Preference[], ...names: readonly string[]): number {
  const found = names.map((wanted) => preferences.find(({ name }) => name === wanted));
  return found.find((preference) => preference !== undefined)?.weight ?? 0;
}

function readParameter(text: string): readonly [name: string, value: string] {
  const [name = "", value = ""] = text.split("=", 2);
  return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")];
}

function readWeight(text: string | undefined): number {
  if (text === undefined) return 1;
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}

/** What the admin port shows. */
export interface AdminViews {
  /** Whether `/readyz` is green, and why. */
  readiness(): { readonly isReady: boolean; readonly reason: string };
  /** The Prometheus exposition, in one of its text formats. */
  metrics(format: "text" | "openmetrics"): Promise<{ readonly contentType: string; readonly text: string }>;
}

/**
 * /livez, /readyz and /metrics for kubelet and Prometheus. `/livez` depends on nothing: it says that we can answer. Probes
 * may use any name; /metrics is shown under this machine's own names alone, as the status port is.
 * @param hosts `admin.hosts` of the active configuration, in lower case
 */
export function createAdmin(views: AdminViews, hosts: () => readonly string[] = () => []): Server {
  const pages = {
    "/livez": async () => plain(200, "ok"),
    "/readyz": async () => {
      const { isReady, reason } = views.readiness();
      return plain(isReady ? 200 : 503, reason);
    },
    "/metrics": async ({ accept }: IncomingHttpHeaders) => ({
      status: 200,
      ...(await views.metrics(prefersOpenMetrics(accept) ? "openmetrics" : "text")),
      vary: "Accept, Accept-Encoding",
    }),
  };
  const own = hostname().toLowerCase();
  const mayRead = (path: string, host: string) => path !== "/metrics" || isOwnHost(host, [own, ...hosts()]);
  return createReadOnlyServer(pages, mayRead, ", or list the name in admin.hosts");
}

/** What the status port shows. Redacted by its makers. */
export interface StatusViews {
  /** What is configured, how each token stands, what failed. */
  snapshot(): object;
  /**
   * The same for people.
   * @param refreshSeconds how often the browser is to load it anew; never, where none is given
   */
  page(refreshSeconds?: number): HtmlPage;
}

export interface HtmlPage {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

const refreshSeconds = 5;

/**
 * `/status` as JSON and `/` as a page. `/` stands still: a page that loads itself anew drops a selection while a person
 * copies a reference, and makes a screen reader start again. `/live` is for a screen on the wall.
 */
export function createStatus({ snapshot, page }: StatusViews): Server {
  const pages = {
    "/": async () => asPage(page()),
    "/live": async () => asPage(page(refreshSeconds)),
    "/status": async () => ({
      status: 200,
      contentType: "application/json",
      text: `${JSON.stringify(snapshot(), null, 2)}\n`,
    }),
  };
  return createReadOnlyServer(pages, (_, host) => isOwnHost(host));
}

function asPage({ html, contentSecurityPolicy }: HtmlPage): Page {
  return { status: 200, contentType: "text/html; charset=utf-8", text: html, contentSecurityPolicy };
}
