import { orderText } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, framed, hidden, last, lengthOfOrder } from "../case.ts";

const both = (coding: string) => framed([coding, `Content-Length: ${lengthOfOrder}`], orderText);
/** An order in chunks under this coding line, and a hidden request behind. */
const under = (...lines: string[]) => framed(lines, `${chunks}${hidden}`);
const coded = (value: string) => under(`Transfer-Encoding: ${value}`);

/** Transfer-Encoding in every disguise (RFC 9112 6.1 and 6.3): TE.TE, and TE that one side sees and the other does not. */
export const transferCodings: readonly Case[] = [
  // Something comes after chunked: the length of the body cannot be known.
  ["chunked, then identity", coded("chunked, identity"), [400]],
  ["chunked, then an unknown one", coded("chunked, x-plain"), [400]],
  ["chunked, then gzip on its own line", under("Transfer-Encoding: chunked", "Transfer-Encoding: gzip"), [400]],

  // A coding that is not chunked: nobody can know where the body ends (RFC 9112 6.3).
  ["identity", coded("identity"), [400]],
  ["a prefix of chunked", coded("chunke"), [400]],
  ["chunked with a letter before", coded("xchunked"), [400]],
  ["chunked with a letter behind", coded("chunkedx"), [400]],
  ["chunked twice without a comma", coded("chunked chunked"), [400]],
  ["chunked in single quotes", coded("'chunked'"), [400]],
  ["chunked in double quotes", coded('"chunked"'), [400]],
  ["chunked in angle brackets", coded("<chunked>"), [400]],
  ["chunked with a weight", coded("chunked;q=0.5"), [400]],
  ["chunked with a semicolon", coded("chunked;"), [400]],
  ["chunked with a comment", coded("chunked (really)"), [400]],
  ["chunked behind a colon", coded(": chunked"), [400]],
  ["chunked with an equals sign", coded("=chunked"), [400]],
  ["a Kelvin sign in chunked", coded("chun\xe2\x84\xaaed"), [400]],
  ["a no-break space before", coded("\xa0chunked"), [400]],
  ["a high byte behind", coded("chunked\xff"), [400]],
  ["an encoded letter", coded("%63hunked"), [400]],
  ["a line of another header after a backslash", coded("\\r\\nTransfer-Encoding: x"), [400]],
  ["br alone", coded("br"), [400]],

  // Chunked more than once.
  ["chunked three times", coded("chunked,chunked,chunked"), [400]],
  ["chunked on two lines in two casings", under("Transfer-Encoding: chunked", "transfer-encoding: CHUNKED"), [400]],
  ["chunked around another", coded("chunked, gzip, chunked"), [400]],

  // Chunked is last, but below it is what nobody here can read: refused as a compressed body is.
  ["gzip below chunked", coded("gzip, chunked"), [415]],
  ["identity below chunked", coded("identity, chunked"), [415]],
  ["deflate below chunked, on two lines", under("Transfer-Encoding: deflate", "Transfer-Encoding: chunked"), [415]],
  ["a made-up coding below chunked", coded("x, chunked"), [415]],

  // Control bytes.
  ["a vertical tab behind", coded("chunked\x0b"), [400]],
  ["a form feed before", coded("\x0cchunked"), [400]],
  ["a backspace before", coded("x\x08chunked"), [400]],
  ["a NUL behind", coded("chunked\0"), [400]],
  ["a NUL before", coded("\0chunked"), [400]],
  ["a DEL behind", coded("chunked\x7f"), [400]],
  ["a bare CR before", coded("\rchunked"), [400]],
  ["a bare CR behind", coded("chunked\r"), [400]],
  ["a bare LF before", coded("\nchunked"), [400]],

  // The line itself.
  ["a blank before the colon", under("Transfer-Encoding : chunked"), [400]],
  ["a tab before the colon", under("Transfer-Encoding\t: chunked"), [400]],
  ["a vertical tab before the colon", under("Transfer-Encoding\x0b: chunked"), [400]],
  ["a NUL in the name", under("Transfer\0-Encoding: chunked"), [400]],
  ["a high byte in the name", under("Transf\xebr-Encoding: chunked"), [400]],
  ["a blank in the name", under("Transfer Encoding: chunked"), [400]],
  ["an equals sign for the colon", under("Transfer-Encoding=chunked"), [400]],
  ["a fold before the value", under("Transfer-Encoding:", "\tchunked"), [400]],
  ["a fold within a list", under("Transfer-Encoding: gzip,", " chunked"), [400]],
  [
    "a fold that hides the line",
    both("X-Fold: 1\r\n Transfer-Encoding: chunked").replace("X-Fold: 1\r\n", "X-Fold:\r\n"),
    [400],
  ],
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
