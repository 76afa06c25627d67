import type { Address } from "../../model/environment.ts";
import { type Read, readAddress } from "../values.ts";

/** For editors; `readProxyUrl` decides. */
export const proxyUrlPattern = /^https?:\/\/[^/?#@\s]+\/?$/;

/** The address of a proxy, and nothing more. */
export function readProxyUrl(text: string): Read<Address> {
  if (text.includes("@")) return { message: "user and password stand in a file", fix: "write auth: { file: /path }" };
  const read = readAddress(text);
  if ("value" in read && read.value.path === "") return read;
  return { fix: "write http://host:port or https://host:port; other kinds of proxies, such as SOCKS, are not used" };
}

/** What a variable such as HTTPS_PROXY says. */
export interface ProxyVariable {
  readonly proxy: Address;
  /** `user:password`. */
  readonly credentials: string | undefined;
}

const variableForm = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(?:([^@/?#\s]*)@)?([^@/?#\s]+)\/?$/i;

/** `[http[s]://][user[:password]@]host[:port]`, user and password percent-encoded. Undefined for anything else. */
export function readProxyVariable(text: string): ProxyVariable | undefined {
  const [, scheme = "http", userInfo, place = ""] = variableForm.exec(text.trim()) ?? [];
  const read = readProxyUrl(`${scheme}://${place}`);
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

/** RFC 7617 section 2: the user has no colon, and neither has a control character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
export const credentialsForm = /^[^:\x00-\x1f\x7f]+:[^\x00-\x1f\x7f]*$/;
