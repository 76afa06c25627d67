import { orderText } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, fallsSilent, framed, hangsUp, hidden, last, lengthOfOrder, ofLength } from "../case.ts";

const length = lengthOfOrder;
const own = `Content-Length: ${length}`;
const coding = "Transfer-Encoding: chunked";
const toHidden = `0\r\n\r\n${hidden}`;

/** Content-Length: alone, repeated, disguised, and beside Transfer-Encoding (RFC 9110 8.6, RFC 9112 6.2 and 6.3). */
export const lengths: readonly Case[] = [
  // Beside Transfer-Encoding: which one counts is what the classic attacks are about.
  [
    "CL.TE: the length covers the hidden request",
    framed([`Content-Length: ${toHidden.length}`, coding], toHidden),
    [400],
  ],
  ["CL.TE: the coding comes first", framed([coding, `Content-Length: ${toHidden.length}`], toHidden), [400]],
  ["TE.CL: the length ends before the chunk does", framed(["Content-Length: 4", coding], `${chunks}${hidden}`), [400]],
  ["TE.CL: length zero", framed([coding, "Content-Length: 0"], chunks), [400]],
  ["a length of zero and an empty chunked body", framed(["Content-Length: 0", coding], toHidden), [400]],
  ["both, and in agreement", framed([coding, `Content-Length: ${chunks.length}`], chunks), [400]],
  ["both, shouted", framed(["CONTENT-LENGTH: 5", "TRANSFER-ENCODING: CHUNKED"], toHidden), [400]],
  [
    "both, with much between them",
    framed([own, ..."abcdefgh".split("").map((c) => `X-${c}: 1`), coding], chunks),
    [400],
  ],
  ["two lengths and a coding", framed([own, coding, "Content-Length: 0"], chunks), [400]],
  ["a coding between two lengths of zero", framed(["Content-Length: 0", coding, "Content-Length: 0"], toHidden), [400]],

  // Repeated.
  ["the second length is zero", framed([own, "Content-Length: 0"], `${orderText}${hidden}`), [400]],
  ["the first length is zero", framed(["Content-Length: 0", own], `${orderText}${hidden}`), [400]],
  ["three lengths, two of them right", framed([own, "Content-Length: 1", own], orderText), [400]],
  ["lengths that differ in leading zeros", framed([own, `Content-Length: 0${length}`], orderText), [400]],
  ["lengths in two casings", framed([own, `cOnTeNt-LeNgTh: ${length}`], orderText), [400]],
  ["lengths at both ends of the head", framed([own], orderText, ["X-Between: 1", "Content-Length: 2"]), [400]],
  ["a list of two", ofLength(`${length}, 0`), [400]],
  ["a list without spaces", ofLength(`${length},${length}`), [400]],
  ["a list with nothing behind the comma", ofLength(`${length},`), [400]],
  ["a list with nothing before the comma", ofLength(`, ${length}`), [400]],
  ["a list by semicolon", ofLength(`${length};${length}`), [400]],

  // Not 1*DIGIT.
  ["plus zero", ofLength("+0"), [400]],
  ["minus zero", ofLength("-0"), [400]],
  ["minus the right length", ofLength(`-${length}`), [400]],
  ["an exponent", ofLength("1e2"), [400]],
  ["a fraction", ofLength(`${length}.0`), [400]],
  ["a hexadecimal digit behind", ofLength(`${length}a`), [400]],
  ["an octal prefix", ofLength("0o120"), [400]],
  ["digits with a separator", ofLength("1_0"), [400]],
  ["digits with a space between", ofLength("1 0"), [400]],
  ["digits with a tab between", ofLength("1\t0"), [400]],
  ["digits in quotes", ofLength(`"${length}"`), [400]],
  ["a parameter", ofLength(`${length};q=1`), [400]],
  ["a comment", ofLength(`${length} (bytes)`), [400]],
  ["a unit", ofLength(`${length}B`), [400]],
  ["nothing but blanks", ofLength(" \t "), [400]],
  ["a superscript digit", ofLength("\xb2"), [400]],
  ["Arabic-Indic digits", ofLength("\xd9\xa2\xd9\xa0"), [400]],
  ["a NUL behind", ofLength(`${length}\0`), [400]],
  ["a vertical tab before", ofLength(`\x0b${length}`), [400]],
  ["a form feed behind", ofLength(`${length}\x0c`), [400]],
  ["a no-break space before", ofLength(`\xa0${length}`), [400]],
  ["words", ofLength("undefined"), [400]],

  // In a disguised name: it is not a length, or the line is not a header.
  ["a name with an underscore is no length", framed([`Content_Length: ${length}`], orderText), [400]],
  ["a blank before the colon", framed([`Content-Length : ${length}`], orderText), [400]],
  ["a tab before the colon", framed([`Content-Length\t: ${length}`], orderText), [400]],
  ["a NUL before the colon", framed([`Content-Length\0: ${length}`], orderText), [400]],
  ["a folded length", framed(["Content-Length:", ` ${length}`], orderText), [400]],
  ["a length folded in its middle", framed(["Content-Length: 1", " 0"], orderText), [400]],

  // Sound, and nothing like the body.
  ["absurd: more than any body may have", ofLength("4294967381"), [413]],
  ["absurd: the last one of 63 bits", ofLength("9223372036854775807"), [413]],
  ["absurd: thirty digits", ofLength("1".repeat(30)), [400]],
  ["absurd: a thousand digits", ofLength("9".repeat(1_000)), [400]],
  ["one byte over the limit", ofLength("262145"), [413]],
  ["CL.0: no body; what follows is judged on its own", [framed(["Content-Length: 0"], last)], [400, 200]],
  ["0.CL: no framing at all means no body", framed([], last), [400, 200]],
  ["a length that covers a hidden request", framed([`Content-Length: ${hidden.length}`], hidden), [400]],
  ["a length that ends within the order", framed([`Content-Length: ${length - 1}`], orderText), [400]],
  ["a length that the caller does not fulfil", [ofLength(String(length + 1)), hangsUp], [400]],
  ["a length that the caller never fulfils", [ofLength("1000"), fallsSilent], [408]],
  ["a body that never begins", [framed([own], ""), fallsSilent], [408]],
  ["a caller that hangs up before the body", [framed([own], ""), hangsUp], [400]],

  // Odd to look at, but sound (RFC 9110 5.6.3: OWS; 8.6: 1*DIGIT).
  ["no blank before the digits", framed([`Content-Length:${length}`], orderText), [200]],
  ["blanks around the digits", ofLength(`   ${length}   `), [200]],
  ["sixty-four leading zeros", ofLength(`${"0".repeat(64)}${length}`), [200]],
  ["a body that comes in three pieces", [framed([own], ""), orderText.slice(0, 9), orderText.slice(9)], [200]],
];
