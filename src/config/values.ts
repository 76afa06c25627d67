import type { Bind } from "../bind.ts";
import type { Address } from "../environment.ts";

/** A value read from its text, or why it cannot be. */
export type Read<Value> = { readonly value: Value } | { readonly mend: string };

const msPerUnit: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `500ms`, `20s`, `2m`, `1h`: in milliseconds. */
export function readDurationMs(text: string): Read<number> {
  const [, digits, unit = ""] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
  const factor = msPerUnit[unit];
  if (digits === undefined || factor === undefined)
    return { mend: "write a whole number and its unit, like 500ms, 20s or 2m" };
  return { value: Number(digits) * factor };
}

/** `127.0.0.1:7411`, `:7412` (every address), `[::1]:7411` or `unix:/run/app.sock`. Port 0 takes a free one. */
export function readBind(text: string): Read<Bind> {
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length);
    // sun_path holds 108 bytes, the last of them NUL.
    if (path.startsWith("/") && Buffer.byteLength(path) <= 107) return { value: { kind: "unix", path } };
    return { mend: "write unix: and an absolute path of at most 107 bytes, like unix:/run/countersign/app.sock" };
  }
  const [, ipv6, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535)
    return { mend: "write an address and a port, like 127.0.0.1:7411 or :7412" };
  return { value: { kind: "tcp", host: ipv6 ?? name ?? "", port } };
}

const pathSegments = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9_.~-]+)*$/;

/** An http or https URL without user information, query or fragment, taken apart. */
export function readAddress(text: string): Read<Address> {
  const mend = "write an http:// or https:// URL with a host and an optional path, and nothing more";
  const [, scheme, authority = "", given = ""] = /^(https?):\/\/([^/?#@\s]+)([^?#\s]*)$/i.exec(text) ?? [];
  const path = given.replace(/\/$/, "");
  if (scheme === undefined || !URL.canParse(text) || !pathSegments.test(path)) return { mend };
  const { hostname, port, origin } = new URL(text);
  if (hostname === "" || /[:.]$/.test(authority)) return { mend };
  const isSecure = scheme.toLowerCase() === "https";
  return {
    value: {
      origin,
      scheme: isSecure ? "https" : "http",
      host: hostname.toLowerCase(),
      port: port === "" ? (isSecure ? 443 : 80) : Number(port),
      path,
    },
  };
}

/** Whether only this machine, or only this pod, can reach it. */
export function isLocal(bind: Bind): boolean {
  return bind.kind === "unix" || bind.host === "localhost" || bind.host === "::1" || /^127\./.test(bind.host);
}

/** Negative, 0 or positive as the API version a is before, equal to or after b: `3.0` is after `1.8`. */
export function compareVersions(a: string, b: string): number {
  const [aMajor = 0, aMinor = 0] = a.split(".").map(Number);
  const [bMajor = 0, bMinor = 0] = b.split(".").map(Number);
  return aMajor - bMajor || aMinor - bMinor;
}
