import { chunks, framings } from "../../../unit/corpus/request-bodies.ts";
import { headerLines, requestLines } from "../../../unit/corpus/request-heads.ts";
import type { Row } from "../../../unit/corpus/request-texts.ts";
import { type Case, hidden } from "../case.ts";
import { chunkedBodies } from "./chunks.ts";
import { expectations } from "./expectations.ts";
import { lengths } from "./lengths.ts";
import { lines } from "./lines.ts";
import { pipelines } from "./pipelines.ts";
import { transferCodings } from "./transfer-codings.ts";
import { upgradedLines, upgrades } from "./upgrades.ts";
import { versions } from "./versions.ts";

/** Rows of the reader's corpus that it refuses, on an order that is sound otherwise, with a hidden request behind it. */
function refusedByTheReader(rows: readonly Row[]): Case[] {
  return rows.flatMap(([name, text, [seen = ""]]): Case[] => {
    const [, status] = /^(4\d\d) /.exec(seen) ?? [];
    const ofOrder = text.replace("Host: a\r\n", "").replace("POST /a HTTP/1.1\r\n", orderHead);
    return status === undefined ? [] : [[name, `${ofOrder}${hidden}`, [Number(status)]]];
  });
}

const orderHead = "POST /create_order HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";

/** What the reader alone refuses, by class. */
export const readerCases: readonly (readonly [name: string, cases: readonly Case[]])[] = [
  ["request lines", refusedByTheReader(requestLines)],
  ["header lines", refusedByTheReader(headerLines)],
  ["framings", refusedByTheReader(framings)],
  ["chunks", refusedByTheReader(chunks)],
];

/** The framing corpus, by class. */
export const framingCases: readonly (readonly [name: string, cases: readonly Case[]])[] = [
  ["Content-Length in disguise", lengths],
  ["Transfer-Encoding in disguise", transferCodings],
  ["chunks that are not what they say", chunkedBodies],
  ["lines that end where they should not", lines],
  ["other versions and protocols", versions],
  ["ways out of HTTP/1.1", upgrades],
  ["requests behind an upgrade", upgradedLines],
  ["expectations", expectations],
  ["requests within requests", pipelines],
];
