import { orderText } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, fallsSilent, framed, hangsUp, hidden, last, lengthOfOrder, ofLength } from "../case.ts";

const length = lengthOfOrder;
const own = `Content-Length: ${length}`;
const coding = "Transfer-Encoding: chunked";
const toHidden = `0\r\n\r\n${hidden}`;

/** Content-Length: alone, repeated, disguised, and beside Transfer-Encoding (RFC 9110 8.6, RFC 9112 6.2 and 6.3). */
export const lengths: readonly Case[] = [
  // Beside Transfer-Encoding: which one counts is what the classic attacks are about.
  ["CL.TE: the coding comes first", framed([coding, `Content-Length: ${toHidden.length}`], toHidden), [400]],
  ["a length of zero and an empty chunked body", framed(["Content-Length: 0", coding], toHidden), [400]],
  ["both, and in agreement", framed([coding, `Content-Length: ${chunks.length}`], chunks), [400]],
  ["both, shouted", framed(["CONTENT-LENGTH: 5", "TRANSFER-ENCODING: CHUNKED"], toHidden), [400]],
  ["two lengths and a coding", framed([own, coding, "Content-Length: 0"], chunks), [400]],
  ["a coding between two lengths of zero", framed(["Content-Length: 0", coding, "Content-Length: 0"], toHidden), [400]],

  // Repeated.
  ["the second length is zero", framed([own, "Content-Length: 0"], `${orderText}${hidden}`), [400]],
  ["the first length is zero", framed(["Content-Length: 0", own], `${orderText}${hidden}`), [400]],
  ["lengths that differ in leading zeros", framed([own, `Content-Length: 0${length}`], orderText), [400]],
  ["lengths at both ends of the head", framed([own], orderText, ["X-Between: 1", "Content-Length: 2"]), [400]],

  // In a disguised name: it is not a length, or the line is not a header.
  ["a name with an underscore is no length", framed([`Content_Length: ${length}`], orderText), [400]],

  // Sound, and nothing like the body.
  ["absurd: more than any body may have", ofLength("4294967381"), [413]],
  ["absurd: the last one of 63 bits", ofLength("9223372036854775807"), [413]],
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
