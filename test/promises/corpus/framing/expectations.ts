import { orderText, rawPost } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, fallsSilent, framed, hangsUp, hidden, last, lengthOfOrder, readsAnswer } from "../case.ts";

const saying = (...more: string[]) => rawPost({ connection: [], more });
const expecting = (value: string) => saying(`Expect: ${value}`);
const continues = ["Expect: 100-continue"];
/** The head alone. */
const head = framed([`Content-Length: ${lengthOfOrder}`], "", continues);

/** Expect, which is answered here and never forwarded (RFC 9110 10.1.1). */
export const expectations: readonly Case[] = [
  ["Expect, its body at once", `${expecting("100-continue")}${last}`, [100, 200, 200]],
  ["Expect in capitals", `${expecting("100-CONTINUE")}${last}`, [100, 200, 200]],
  ["Expect, its body after the head", [head, readsAnswer, orderText], [100, 200]],
  ["Expect and a caller that hangs up", [head, hangsUp], [100, 400]],
  ["Expect and a caller that falls silent", [head, fallsSilent], [100, 408]],
  ["Expect with chunks", framed(["Transfer-Encoding: chunked"], `${chunks}${last}`, continues), [100, 200, 200]],
  ["an unknown expectation before a hidden request", `${expecting("y 100-continue")}${hidden}`, [417]],
  ["a prefix of the expectation", expecting("100-contin"), [417]],
  ["the expectation and more", expecting("100-continue-now"), [417]],
  ["an empty expectation", expecting(""), [417]],
  ["the expectation with a weight", expecting("100-continue;q=1"), [417]],
  ["the expectation with a comma", expecting("100-continue,"), [417]],
  ["the expectation in a list", expecting("x, 100-continue"), [417]],
  ["the expectation beside another", saying(...continues, "Expect: x"), [417]],
  ["the expectation with a high byte", expecting("100-continue\xa0"), [417]],
  ["the expectation with a blank before the colon", saying("Expect : 100-continue"), [400]],
  ["the expectation with a NUL", expecting("100-continue\0"), [400]],
  ["the expectation twice is the expectation", saying(...continues, ...continues), [100, 200]],
];
