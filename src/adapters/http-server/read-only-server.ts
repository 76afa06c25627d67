import { isIPv4, isIPv6 } from "node:net";
import { hostname } from "node:os";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { type HeaderLines, one, valuesOf } from "../../http/headers.ts";
import type { Clock } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { Answer, Buffers, CallerRequest } from "../../serving/messages.ts";
import { createListener } from "./listener.ts";
import type { SocketServer } from "./tls.ts";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** The request headers that the page depends on. Default: Accept-Encoding. */
  readonly vary?: string;
  /** The allowed methods, for a 405. */
  readonly allow?: string;
  /** What a browser may do with the page. Default: nothing. */
  readonly contentSecurityPolicy?: string;
}

export interface Surroundings {
  readonly clock: Clock;
  /** Memory for requests; not the budget of applications, whose load must not fail a probe. */
  readonly buffers: Buffers;
}

/** Enough for probes and scrapers. */
const connections = 64;

/** Shorter answers fit into one packet anyway. */
const longestUncompressed = 1_400;
/** In a thread of its own, and fast: size matters little in a pod's network. */
const gzipInBackground = promisify<string, object, Buffer>(gzip);
const fast = { level: constants.Z_BEST_SPEED };

const noPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const foreignHost =
  "Nothing is shown under this name, since a hostile site can make any name point here. Use localhost or an IP address";

/** What a POST with a JSON body does below one path. */
interface Action {
  /** The rest of the path is the name of what is acted on. */
  readonly prefix: string;
  readonly act: (name: string, body: string) => Promise<Page>;
}

/**
 * A server for people and probes: it knows a few paths, only reads, and answers 404 or 405 to everything else.
 * @param mayRead whether a path may be read under this Host header; if not, 403
 * @param elseUse text: what to use instead of a foreign name, beside localhost and addresses
 * @param action the one exception
 */
function createReadOnlyServer(
  pages: Readonly<Record<string, (headers: HeaderLines) => Promise<Page>>>,
  mayRead: (path: string, host: string) => boolean,
  { clock, buffers }: Surroundings,
  elseUse = "",
  action?: Action,
): SocketServer {
  const known = new Map(Object.entries(pages));
  const find = (request: CallerRequest): Page | Promise<Page> => {
    const { target, method, headers } = request;
    // Prometheus adds its `params` as a query.
    const [path = ""] = target.split("?", 1);
    const make = known.get(path);
    if (!mayRead(path, one(headers, "host") ?? "")) return plain(403, `${foreignHost}${elseUse}.`);
    if (action !== undefined && path.startsWith(action.prefix)) return perform(action, path, request);
    if (method !== "GET" && method !== "HEAD") return onlyReads;
    return make?.(headers) ?? plain(404, `Not here. This port has ${[...known.keys()].join(", ")}.`);
  };
  const perform = async ({ prefix, act }: Action, path: string, request: CallerRequest): Promise<Page> => {
    if (request.method !== "POST") return onlyPosts;
    // A page of another site can post forms and plain text here, but no JSON, unless it were allowed to (CORS).
    if (!jsonType.test(one(request.headers, "content-type") ?? "")) return onlyJson;
    const buffer = buffers.open(request.peer ?? nobody);
    try {
      const body = await request.readBody(clock.nowMs() + actionMs, buffer);
      return await act(path.slice(prefix.length), Buffer.from(body).toString("utf8"));
    } catch (error) {
      if (error instanceof ProxyError) return plain(error.status, error.message);
      throw error;
    } finally {
      buffer.close();
    }
  };
  // A page is our own answer, whose delivery is not waited for.
  const write = async (request: CallerRequest, page: Page, packed?: Buffer): Promise<void> =>
    request.answer(answerOf(page, packed), Number.POSITIVE_INFINITY);
  const serve = async (request: CallerRequest): Promise<void> => {
    const page = await find(request);
    const { text } = page;
    const isPacked = text.length > longestUncompressed && prefersGzip(listOf(request.headers, "accept-encoding"));
    return write(request, page, isPacked ? await gzipInBackground(text, fast) : undefined);
  };
  const handler = {
    handle: (request: CallerRequest) =>
      serve(request).catch(() => write(request, plain(500, "This page could not be made."))),
    refuse: (request: CallerRequest, error: Error) =>
      write(request, plain(error instanceof ProxyError ? error.status : 500, error.message)),
  };
  const settings = {
    ...{ clock, buffers, connections, acceptedConnections: connections + 1, isReadOnly: true },
    ...{ bodyBytes: action === undefined ? 0 : actionBytes, isDraining: () => false },
  };
  return createListener(() => ({ handler, settings }), { name: "", report: () => {} }).server;
}

const actionBytes = 4_096;
const actionMs = 5_000;
const jsonType = /^application\/json *(?:; *charset="?utf-8"? *)?$/i;
const nobody = { address: undefined, subject: undefined };

export function plain(status: number, text: string): Page {
  return { status, contentType: "text/plain; charset=utf-8", text: `${text}\n` };
}

const onlyReads: Page = {
  ...plain(405, "Only GET and HEAD are answered here; orders go to a listener's port."),
  allow: "GET, HEAD",
};

const onlyPosts: Page = { ...plain(405, "Only POST is answered here."), allow: "POST" };
const onlyJson = plain(415, "Send the body as JSON, with Content-Type: application/json.");

/**
 * Whether a Host header is `localhost` or an address, with or without a port. Any other name may belong to an attacker
 * who has made it point here: then the page of a hostile site could read this port (DNS rebinding). An address cannot be
 * made to point elsewhere.
 * @param names further names to answer to, in lower case
 */
export function isOwnHost(host: string, names: Iterable<string> = []): boolean {
  const [, ipv6, name = ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(host) ?? [];
  if (ipv6 !== undefined) return isIPv6(ipv6);
  return isIPv4(name) || ["localhost", ...names].includes(name.toLowerCase());
}

/**
 * The headers forbid a browser to run, frame, store or pass on the page.
 * @param packed the text as gzip; undefined: it is sent as plain text
 */
function answerOf(page: Page, packed: Buffer | undefined): Answer {
  const { status, contentType, text, allow, vary = "Accept-Encoding", contentSecurityPolicy = noPolicy } = page;
  const body = packed ?? Buffer.from(text);
  const headers = [
    ...(allow === undefined ? [] : ["Allow", allow]),
    "Content-Type",
    contentType,
    "Content-Length",
    String(body.length),
    ...(packed === undefined ? [] : ["Content-Encoding", "gzip"]),
    "Vary",
    vary,
    "Cache-Control",
    "no-store",
    "Content-Security-Policy",
    contentSecurityPolicy,
    "X-Frame-Options",
    "DENY",
    "X-Content-Type-Options",
    "nosniff",
    "Cross-Origin-Resource-Policy",
    "same-origin",
    "Referrer-Policy",
    "no-referrer",
  ];
  return { status, headers, body, isLocal: true, isFramed: true };
}

/** A header that may have several lines (RFC 9110 section 5.2). */
function listOf(headers: HeaderLines, name: string): string {
  return valuesOf(headers, name).join(",");
}

/** One of the values of an Accept header or its like: `text/plain;version=0.0.4;q=0.3`. */
interface Preference {
  /** In lower case, without parameters. */
  readonly name: string;
  /** By name in lower case; without quotes. */
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 (not at all) to 1, RFC 9110 section 12.4.2; 1 if absent, 0 if malformed. */
  readonly weight: number;
}

/** Reads a header of content negotiation (RFC 9110 section 12.5). A malformed weight counts as 0. */
function readPreferences(header = ""): readonly Preference[] {
  return header.split(",").flatMap((each) => {
    const [name = "", ...rest] = each.split(";").map((part) => part.trim());
    if (name === "") return [];
    const parameters = new Map(rest.map(readParameter));
    return [{ name: name.toLowerCase(), parameters, weight: readWeight(parameters.get("q")) }];
  });
}

/** Whether a reader accepts gzip, and does not prefer plain text. */
export function prefersGzip(acceptEncoding: string | undefined): boolean {
  const preferences = readPreferences(acceptEncoding);
  const gzip = weightOf(preferences, "gzip", "x-gzip", "*");
  return gzip > 0 && gzip >= weightOf(preferences, "identity");
}

const openMetrics = "application/openmetrics-text";

/** Whether Accept names OpenMetrics 1.0.0, with a weight not below that of the text format. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  const preferences = readPreferences(accept);
  const isOurs = ({ name, parameters }: Preference) =>
    name === openMetrics && (parameters.get("version") ?? "1.0.0") === "1.0.0";
  const asked = Math.max(0, ...preferences.filter(isOurs).map(({ weight }) => weight));
  return asked > 0 && asked >= weightOf(preferences, "text/plain", "text/*", "*/*");
}

/** The weight of the first of these names that is present; 0 if none is. */
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

export interface AdminViews {
  /** Whether `/readyz` is green, and why. */
  readiness(): { readonly isReady: boolean; readonly reason: string };
  /** The Prometheus exposition, in one of its text formats. */
  metrics(format: "text" | "openmetrics"): Promise<{ readonly contentType: string; readonly text: string }>;
}

/**
 * /livez, /readyz and /metrics for kubelet and Prometheus. `/livez` depends on nothing: it shows that we can answer. Probes
 * may use any name; /metrics is shown only under addresses, localhost, this machine's name and `hosts`.
 * @param hosts `admin.hosts` of the active configuration, in lower case
 */
export function createAdmin(
  views: AdminViews,
  surroundings: Surroundings,
  hosts: () => readonly string[] = () => [],
): SocketServer {
  const pages = {
    "/livez": async () => plain(200, "ok"),
    "/readyz": async () => {
      const { isReady, reason } = views.readiness();
      return plain(isReady ? 200 : 503, reason);
    },
    "/metrics": async (headers: HeaderLines) => ({
      status: 200,
      ...(await views.metrics(prefersOpenMetrics(listOf(headers, "accept")) ? "openmetrics" : "text")),
      vary: "Accept, Accept-Encoding",
    }),
  };
  const own = hostname().toLowerCase();
  const mayRead = (path: string, host: string) => path !== "/metrics" || isOwnHost(host, [own, ...hosts()]);
  return createReadOnlyServer(pages, mayRead, surroundings, ", or list the name in admin.hosts");
}

/** The contents of the status port, which must hold no secret. */
export interface StatusViews {
  /** The configuration, the state of each token, and the failures. */
  snapshot(): Promise<object>;
  /**
   * The same for people.
   * @param address under which the reader has reached this port, such as `localhost:7413`
   * @param refreshSeconds how often the browser reloads it; absent: never
   */
  page(address: string, refreshSeconds?: number): Promise<HtmlPage>;
  /**
   * Settles the unknown outcome of a request.
   * @param body as it came
   */
  settle(requestId: string, body: string): Promise<Pick<Page, "status" | "contentType" | "text">>;
}

export interface HtmlPage {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

const refreshSeconds = 10;

/**
 * `/status` as JSON and `/` as a page that reloads itself. `/still` does not: a reload drops the selection of who copies a
 * reference, and makes a screen reader start again. A POST to `/status/unknown/<request id>` settles an unknown outcome.
 */
export function createStatus({ snapshot, page, settle }: StatusViews, surroundings: Surroundings): SocketServer {
  const addressOf = (headers: HeaderLines) => one(headers, "host") ?? "";
  const pages = {
    "/": async (headers: HeaderLines) => asPage(await page(addressOf(headers), refreshSeconds)),
    "/still": async (headers: HeaderLines) => asPage(await page(addressOf(headers))),
    "/status": async () => ({
      status: 200,
      contentType: "application/json",
      text: `${JSON.stringify(await snapshot(), null, 2)}\n`,
    }),
  };
  return createReadOnlyServer(pages, (_, host) => isOwnHost(host), surroundings, "", {
    prefix: "/status/unknown/",
    act: settle,
  });
}

function asPage({ html, contentSecurityPolicy }: HtmlPage): Page {
  return { status: 200, contentType: "text/html; charset=utf-8", text: html, contentSecurityPolicy };
}
