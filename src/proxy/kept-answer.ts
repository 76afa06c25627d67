import { endToEndHeaders, firstOf, type HeaderLines } from "../http/headers.ts";
import type { Answer, UpstreamResponse } from "./messages.ts";

/** Only those who share a key can read what is sealed, and only under its name. */
export interface Sealing {
  seal(name: string, plain: Uint8Array): string;
  /** Undefined for what was not sealed under this name, or with a key that is gone. */
  open(name: string, sealed: string): Uint8Array | undefined;
}

/** Status and headers as a line of JSON, then the body as it is. Its length stands in for chunks. */
export function formatAnswer({ status, headers }: Pick<Answer, "status" | "headers">, body: Uint8Array): Buffer {
  const passed = endToEndHeaders(headers);
  const needsLength = status !== 204 && status !== 304 && firstOf(passed, "content-length") === undefined;
  if (needsLength) passed.push("Content-Length", String(body.length));
  return Buffer.concat([Buffer.from(`${JSON.stringify([status, passed])}\n`), body]);
}

export function parseAnswer(kept: Uint8Array): UpstreamResponse {
  const end = kept.indexOf(0x0a);
  const [status, headers]: [number, HeaderLines] = JSON.parse(Buffer.from(kept.subarray(0, end)).toString("utf8"));
  return { status, headers, body: kept.subarray(end + 1), discard() {} };
}
