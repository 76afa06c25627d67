import { orderText } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, framed, hidden, last, lengthOfOrder } from "../case.ts";

const both = (coding: string) => framed([coding, `Content-Length: ${lengthOfOrder}`], orderText);
/** An order in chunks under this coding line, and a hidden request behind. */
const under = (...lines: string[]) => framed(lines, `${chunks}${hidden}`);
const coded = (value: string) => under(`Transfer-Encoding: ${value}`);

/** Transfer-Encoding in every disguise (RFC 9112 6.1 and 6.3): TE.TE, and TE that one side sees and the other does not. */
export const transferCodings: readonly Case[] = [
  // Chunked is last, but below it is what nobody here can read: refused as a compressed body is.
  ["gzip below chunked", coded("gzip, chunked"), [415]],
  ["identity below chunked", coded("identity, chunked"), [415]],
  ["deflate below chunked, on two lines", under("Transfer-Encoding: deflate", "Transfer-Encoding: chunked"), [415]],
  ["a made-up coding below chunked", coded("x, chunked"), [415]],

  // The line itself.
  ["a fold that hides the line", both("X-Fold:\r\n Transfer-Encoding: chunked"), [400]],
  ["an indented first line", under(" Transfer-Encoding: chunked").replace("Host: 127.0.0.1\r\n", ""), [400]],
  ["a line by a bare CR", both("X-Cr: 1\rTransfer-Encoding: chunked"), [400]],
  ["a line by a bare LF", both("X-Lf: 1\nTransfer-Encoding: chunked"), [400]],
  ["a line by LF and CR", both("X-Lfcr: 1\n\rTransfer-Encoding: chunked"), [400]],

  // No Transfer-Encoding at all: the length counts, and nothing of it goes on.
  ["a name with an underscore", both("Transfer_Encoding: chunked"), [200]],
  ["a name with a prefix", both("X-Transfer-Encoding: chunked"), [200]],
  ["a name that only ends alike", both("Encoding: chunked"), [200]],
  ["in another header's value", both("X-Note: Transfer-Encoding: chunked"), [200]],
  ["escaped line ends in a value", both("X-Note: 1\\r\\nTransfer-Encoding: chunked"), [200]],
  ["TE, which is a wish for answers", both("TE: chunked"), [200]],

  // Sound.
  ["chunked in mixed casing", framed(["tRANSFER-eNCODING: cHuNkEd"], `${chunks}${last}`), [200, 200]],
  ["chunked with blanks around", framed(["Transfer-Encoding:   chunked   "], `${chunks}${last}`), [200, 200]],
  ["chunked with no blank", framed(["Transfer-Encoding:chunked"], `${chunks}${last}`), [200, 200]],
];
