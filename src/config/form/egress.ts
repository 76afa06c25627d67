import { BlockList, isIP } from "node:net";
import * as z from "zod";
import { type Address, withoutBrackets } from "../../model/environment.ts";
import { codec, listOf, mapping, optional, secretSource, tlsFiles, withDefault } from "./fields.ts";
import { describeAddress, isLoopback, type TextForm, urlForm } from "./values.ts";

/** An entry of NO_PROXY: hosts that are reached without a proxy. */
export interface NoProxyRule {
  /** As written. */
  readonly text: string;
  /** @param host in lower case, IPv6 without brackets */
  readonly matches: (host: string, port: number) => boolean;
}

const networkForm = /^([0-9a-f:.]+)\/(\d{1,3})$/;
const hostForm = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/;
/** A name's last label is not all digits, as in an address. The root's dot may follow it (RFC 1034 section 3.1). */
const nameForm = /^(\*?\.)?((?:[a-z0-9_-]+\.)*[a-z0-9_-]*[a-z_-][a-z0-9_-]*)\.?$/;

function readMatch(text: string): NoProxyRule["matches"] | undefined {
  if (text === "*") return () => true;
  const [, network = "", bits] = networkForm.exec(text) ?? [];
  if (bits !== undefined) return readNetwork(network, Number(bits));
  const [, inBrackets, plain = text, digits] = hostForm.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  const matchesHost = readHost(inBrackets ?? plain);
  if (matchesHost === undefined || (port !== undefined && port > 65_535)) return undefined;
  return (host, to) => (port === undefined || port === to) && matchesHost(host, to);
}

function readHost(text: string): NoProxyRule["matches"] | undefined {
  if (isIP(text) !== 0) return readNetwork(text, isIP(text) === 4 ? 32 : 128);
  const [, below, name] = nameForm.exec(text) ?? [];
  if (name === undefined) return undefined;
  return (host) => {
    const plain = host.endsWith(".") ? host.slice(0, -1) : host;
    return plain.endsWith(`.${name}`) || (below === undefined && plain === name);
  };
}

function readNetwork(address: string, bits: number): NoProxyRule["matches"] | undefined {
  const version = isIP(address);
  if (version === 0 || bits > (version === 4 ? 32 : 128)) return undefined;
  const list = new BlockList();
  list.addSubnet(address, bits, familyOf(version));
  return (host) => isIP(host) !== 0 && list.check(host, familyOf(isIP(host)));
}

function familyOf(version: number): "ipv4" | "ipv6" {
  return version === 4 ? "ipv4" : "ipv6";
}

/** Whether a host is reached without the proxy. Loopback always is: for a proxy, loopback is the proxy's machine. */
export function isDirect(address: Address, rules: readonly NoProxyRule[]): boolean {
  const plain = withoutBrackets(address.host);
  return isLoopback(address) || rules.some(({ matches }) => matches(plain, address.port));
}

/** The content of a variable such as HTTPS_PROXY. */
export interface ProxyVariable {
  readonly proxy: Address;
  /** `user:password`. */
  readonly credentials: string | undefined;
}

const variableForm = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(?:([^@/?#\s]*)@)?([^@/?#\s]+)\/?$/i;

/** `[http[s]://][user[:password]@]host[:port]`, user and password percent-encoded. Undefined for anything else. */
export function readProxyVariable(text: string): ProxyVariable | undefined {
  const [, scheme = "http", userInfo, place = ""] = variableForm.exec(text.trim()) ?? [];
  const read = proxyUrlForm.read(`${scheme}://${place}`);
  if (!("value" in read)) return undefined;
  if (userInfo === undefined) return { proxy: read.value, credentials: undefined };
  const credentials = readUserInfo(userInfo);
  return credentials === undefined ? undefined : { proxy: read.value, credentials };
}

function readUserInfo(text: string): string | undefined {
  const [user = "", ...rest] = text.split(":");
  try {
    const name = decodeURIComponent(user);
    const credentials = `${name}:${decodeURIComponent(rest.join(":"))}`;
    return name.includes(":") || !credentialsForm.test(credentials) ? undefined : credentials;
  } catch {
    return undefined;
  }
}

/** RFC 7617 section 2: the user has no colon; user and password have no control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
export const credentialsForm = /^[^:\x00-\x1f\x7f]+:[^\x00-\x1f\x7f]*$/;

/** The address of a proxy, without user, password or path. */
export const proxyUrlForm: TextForm<Address> = {
  read(text) {
    if (text.includes("@"))
      return { message: "user and password belong in a file", fix: "write auth: { file: /path }" };
    const read = urlForm.read(text);
    if ("value" in read && read.value.path === "") return read;
    return { fix: "write http://host:port or https://host:port; other kinds of proxies, such as SOCKS, are not used" };
  },
  write: describeAddress,
  pattern: /^https?:\/\/[^/?#@\s]+\/?$/,
};

/** One entry of a list as Go, curl and others read it in NO_PROXY. */
export const noProxyForm: TextForm<NoProxyRule> = {
  read(text) {
    const matches = readMatch(text.toLowerCase());
    if (matches !== undefined) return { value: { text, matches } };
    return { fix: "write a host (api.example), its subdomains (.example), an address, a network (10.0.0.0/8) or *" };
  },
  write: ({ text }) => text,
  pattern: /^(\*|(\*?\.)?[A-Za-z0-9_.-]+(:\d{1,5})?|[0-9A-Fa-f:.[\]]+(:\d{1,5})?|[0-9A-Fa-f:.]+\/\d{1,3})$/,
};

const proxied = mapping("A forward proxy: each connection goes through a tunnel of its own (CONNECT).", {
  proxy: codec(proxyUrlForm, "http://proxy.example:3128").describe(
    "Address of the proxy, `http://host:port` or `https://host:port`. User and password go into auth.",
  ),
  auth: optional(secretSource).describe("Where `user:password` for the proxy is, in one line. Sent as HTTP Basic."),
  noProxy: withDefault(listOf(codec(noProxyForm, ".cluster.local")), []).describe(
    "Hosts that are reached without the proxy: `host` (with its subdomains), `.host` (its subdomains), an address, `10.0.0.0/8` or `*`; the first three may have `:port`. Loopback never uses the proxy.",
  ),
  tls: tlsFiles.prefault({}).describe("TLS towards a proxy with https://."),
});

export const egress = z
  .union([z.literal("environment"), proxied], { error: "write environment or { proxy: http://host:port }" })
  .describe(
    "The way out, to the service and the authorization server (docs/egress.md): a `proxy`, or `environment`: the process's HTTPS_PROXY and NO_PROXY. Default: no proxy, whatever these variables say.",
  );

export type RawEgress = z.output<typeof egress>;
