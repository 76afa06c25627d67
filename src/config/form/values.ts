import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { type Address, withoutBrackets } from "../../model/environment.ts";
import { type Bind, describeBind } from "../../model/listener.ts";
import { describeRedisNode, type HostPort, type RedisNode } from "../../model/redis-access.ts";

/** A value read from its text, or the fault and its fix. */
export type Read<Value> = { readonly value: Value } | { readonly fix: string; readonly message?: string };

/** Message and fix for a number beyond its bounds. */
export function outOfRange(what: string, given: unknown, isLess: boolean, least: unknown, most: unknown) {
  const [side, limit, bound] = isLess ? ["less", least, "least"] : ["more", most, "most"];
  const message = `${given} is ${side} than ${limit}, the ${bound} that is allowed`;
  return { message, fix: `write a ${what} from ${least} to ${most}` };
}

/** How a value that is written as one text is read and written. */
export interface TextForm<Value> {
  readonly read: (text: string) => Read<Value>;
  /** Equal values have the same text, however they were written. */
  readonly write: (value: Value) => string;
  /** For editors; `read` decides. */
  readonly pattern: RegExp;
}

/** `127.0.0.1:7411`, `:7412` (every address), `[::1]:7411` or `unix:/run/app.sock`. Port 0 chooses a free port. */
export const bindForm: TextForm<Bind> = {
  read(text) {
    if (text.startsWith("unix:")) {
      const path = text.slice("unix:".length);
      if (isSocketPath(path)) return { value: { kind: "unix", path } };
      return { fix: "write unix: and an absolute path of at most 107 bytes, like unix:/run/countersign/app.sock" };
    }
    const [, ipv6, name = "", digits] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]*)):(\d{1,5}|[1-9]\d+)$/.exec(text) ?? [];
    const port = Number(digits);
    const isAddress = ipv6 === undefined || isIPv6(ipv6);
    if (port > 65_535)
      return { message: `${digits} is more than 65535, the highest port`, fix: "name a port up to 65535" };
    if (digits === undefined || !isAddress || isBrokenIPv4(name)) return faultOfBind(text);
    return { value: { kind: "tcp", host: ipv6 === undefined ? name.toLowerCase() : canonicalIPv6(ipv6), port } };
  },
  write: describeBind,
  pattern: /^(unix:\/.+|(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]*):\d{1,5})$/,
};

function faultOfBind(text: string): Read<Bind> {
  if (isSocketPath(text)) return { message: "this is a path and no address", fix: `write unix:${text}` };
  const [, scheme, host = "", port] = /^([a-z]+:\/\/)?([A-Za-z0-9.-]*|\[.+\])(?::(\d+))?\/?$/.exec(text) ?? [];
  const [, bare = "", end] = /^([0-9a-f:]*:[0-9a-f:]*):(\d+)$/i.exec(text) ?? [];
  if (isIPv6(bare)) return { message: "an IPv6 address stands in brackets", fix: `write [${bare}]:${end}` };
  if (scheme !== undefined && port !== undefined)
    return { message: "this is a URL and no address", fix: `write ${host}:${port}` };
  if (/^\d+$/.test(host)) return { message: "there is no host", fix: `write 127.0.0.1:${port ?? host}` };
  if (isBrokenIPv4(host)) {
    return { message: "this is no IPv4 address", fix: "write four numbers up to 255, like 127.0.0.1:7411" };
  }
  if (host !== "") return { message: "there is no port", fix: `add a port, like ${host}:7411` };
  return { fix: "write an address and a port, like 127.0.0.1:7411, or a socket, like unix:/run/countersign/app.sock" };
}

/** No name consists of digits and dots alone. */
function isBrokenIPv4(host: string): boolean {
  return /^[\d.]+$/.test(host) && !isIPv4(host);
}

/** Absolute, and not too long: sun_path holds 108 bytes, the last of them NUL. */
function isSocketPath(path: string): boolean {
  return /^\/[^\0]+$/.test(path) && Buffer.byteLength(path) <= 107;
}

/** One text for one address: `0:0:0:0:0:0:0:1` is `::1`. */
function canonicalIPv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

const pathSegments = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9_.~-]+)*$/;

/**
 * A host must not end with a dot: that would be the same host under another origin. It must be ASCII: write hosts in
 * other scripts, which may look alike, in their xn--… form.
 */
const addressForm = /^(https?):\/\/(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*[A-Za-z0-9_-])(?::0*[1-9]\d{0,4})?([^?#\s]*)$/i;

export function describeAddress({ origin, path }: Address): string {
  return `${origin}${path}`;
}

/** What is wrong with an address; it shows no part of it, which may be a password. */
function faultOfUrl(text: string): string {
  const [, scheme, authority = "", rest = ""] = /^([^:/?#]*:\/\/)?([^/?#]*)(.*)$/s.exec(text) ?? [];
  if (/\s/.test(text)) return "the address has a blank in it";
  if (/^https?:(?!\/\/)[^\d]/i.test(text)) return "the address has not two slashes after its scheme";
  if (scheme === undefined) return "the address has no scheme";
  if (!/^https?:/i.test(scheme)) return "the address has another scheme than http and https";
  if (authority.includes("@")) return "the address has a user or a password in it";
  if (rest.includes("#")) return "the address has a fragment, from # on";
  if (rest.includes("?")) return "the address has a query, from ? on";
  return pathSegments.test(rest.replace(/\/$/, "")) ? "the host or the port cannot be read" : "the path is not plain";
}

/** An http or https URL without user information, query or fragment, taken apart. */
export const urlForm: TextForm<Address> = {
  read(text) {
    const [, scheme, given = ""] = addressForm.exec(text) ?? [];
    const path = given.replace(/\/$/, "");
    if (scheme === undefined || !URL.canParse(text) || !pathSegments.test(path)) {
      const fix = "write an http:// or https:// URL with a plain host and an optional path, and nothing more";
      return { message: faultOfUrl(text), fix };
    }
    const { hostname: host, port, origin } = new URL(text);
    const isSecure = scheme.toLowerCase() === "https";
    const defaultPort = isSecure ? 443 : 80;
    return {
      value: {
        origin,
        scheme: isSecure ? "https" : "http",
        host,
        port: port === "" ? defaultPort : Number(port),
        path,
      },
    };
  },
  write: describeAddress,
  pattern: /^https?:\/\/[^/?#@\s]+(\/[A-Za-z0-9_.~/-]*)?$/,
};

/** RFC 3986 section 3.4. */
const plainQuery = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})+$/;

/** The whole address of a token endpoint. It is used as written: a slash at the end is kept, and a query is part of its path. */
export const tokenUrlForm: TextForm<Address> = {
  read(text) {
    const at = text.indexOf("?");
    const [start, query] = at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at)];
    const read = urlForm.read(start);
    if (!("value" in read)) return read;
    const { origin, path } = read.value;
    if (path === "") return { fix: `write the whole address of the token endpoint, like ${origin}/oauth2/token` };
    if (at !== -1 && !plainQuery.test(query.slice(1)))
      return { fix: "write a query with plain or percent-encoded characters" };
    return { value: { ...read.value, path: `${path}${start.endsWith("/") ? "/" : ""}${query}` } };
  },
  write: describeAddress,
  pattern: /^https?:\/\/[^/?#@\s]+\/[A-Za-z0-9_.~/-]+(\?[^#\s]+)?$/,
};

const redisUrlForm = /^(rediss?):\/\/([^/]+)(?:\/(\d{1,3})?)?$/i;
const redisSocketForm = /^unix:([^?#]+)(?:\?db=(\d{1,3}))?$/;
const authorityForm = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]*[a-z0-9_-]))(?::(\d{1,5}))?$/i;

const redisPort = 6379;

/** `redis://host[:port][/db]`, `rediss://…` (TLS) or `unix:/path[?db=1]`; none of them holds a secret. */
export const redisNodeForm: TextForm<RedisNode> = {
  read(text) {
    const [, path, socketDb = "0"] = redisSocketForm.exec(text) ?? [];
    if (path !== undefined) {
      // Some write unix:///run: each path must have one text only, as addresses have.
      const plain = path.replace(/\/{2,}/g, "/");
      if (isSocketPath(plain)) return { value: { kind: "unix", path: plain, db: Number(socketDb) } };
      return { fix: "write unix: and an absolute path of at most 107 bytes, like unix:/run/redis/redis.sock" };
    }
    const [, scheme = "", authority = "", db = "0"] = redisUrlForm.exec(text) ?? [];
    const address = readAuthority(authority, redisPort);
    if (address !== undefined) {
      return { value: { kind: "tcp", ...address, tls: scheme.toLowerCase() === "rediss", db: Number(db) } };
    }
    const forms = "redis://host:6379, rediss://host:6379 (TLS) or unix:/path/redis.sock?db=0";
    return { fix: `write ${forms}; user and password have keys of their own` };
  },
  write: describeRedisNode,
  pattern: /^(rediss?:\/\/[^\s@/?#]+(\/\d{0,3})?|unix:\/[^?#]+(\?db=\d{1,3})?)$/,
};

/** `host:port`, as Sentinels and Cluster nodes are named. */
export const hostPortForm: TextForm<HostPort> = {
  read(text) {
    const address = readAuthority(text);
    return address === undefined ? { fix: "write host:port" } : { value: address };
  },
  write: (place) => describeBind({ kind: "tcp", ...place }),
  pattern: /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/,
};

function readAuthority(text: string, defaultPort?: number): HostPort | undefined {
  const [, ipv6, name = "", digits] = authorityForm.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port === undefined || port < 1 || port > 65_535) return undefined;
  if (ipv6 === undefined) return name === "" ? undefined : { host: name.toLowerCase(), port };
  return isIPv6(ipv6) ? { host: canonicalIPv6(ipv6), port } : undefined;
}

/** SPIFFE ID section 2: lower case, no empty segment, no port, no query. */
const spiffeId = /^spiffe:\/\/[a-z0-9._-]{1,255}(\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/;
const uriForm = /^[a-z][a-z0-9+.-]*:[\x21-\x7e]+$/;
const dnsForm = /^(?!-)[a-z0-9_-]{1,63}(\.(?!-)[a-z0-9_-]{1,63})*$/i;

/** A URI or a DNS name, in the form that `certificateNames` returns: `URI:spiffe://…`, `DNS:…`. */
export const certificateNameForm: TextForm<string> = {
  read(text) {
    const fix = "write a URI as the certificate has it, like spiffe://prod.example/ns/pay/sa/payments, or a DNS name";
    if (text.includes("*")) return { message: "a pattern names no caller", fix: "write each name in full" };
    if (isIP(text.replace(/^\[|\]$/g, "")) !== 0) return { message: "an address names no caller", fix };
    if (text.toLowerCase().startsWith("spiffe:") && !spiffeId.test(text)) {
      const form = "spiffe://trust-domain/path, the trust domain in lower case, without a slash at the end";
      return { message: "this is no SPIFFE ID of a workload", fix: `write ${form}` };
    }
    if (uriForm.test(text) && !/[",'\\]/.test(text)) return { value: `URI:${text}` };
    return dnsForm.test(text) ? { value: `DNS:${text.toLowerCase()}` } : { fix };
  },
  write: (name) => name.slice("URI:".length),
  pattern: /^[^*\s]+$/,
};

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether only this machine, or only this pod, can reach the address. */
export function isLocal(bind: Bind): boolean {
  if (bind.kind === "unix" || bind.host === "localhost") return true;
  return isIP(bind.host) !== 0 && loopback.check(bind.host, isIPv4(bind.host) ? "ipv4" : "ipv6");
}

export function isLoopback({ host }: Address): boolean {
  return isLocal({ kind: "tcp", host: withoutBrackets(host), port: 0 });
}
