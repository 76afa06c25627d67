import { pickBy } from "../../../testkit/seeded-random.ts";

/** Pieces that any message of HTTP/1.1 may contain, and pieces that no message contains. */
const common = [
  ..."\0\t\n\r\x0b\x0c \"#%&'()*+,-./0:;<=>?@A[\\]^_`{|}~\x7f\x80\xa0\xff".split(""),
  "\r\n",
  "\r\n ",
  "\r\n\r\n",
  "\n\n",
  "HTTP/1.1",
  "chunked",
  ", chunked",
  "gzip, ",
  ": ",
  " :",
  "X: y\r\n",
  "Content-Length: 3\r\n",
  "Content-Length: 0\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: x\r\n",
  "0",
  "00",
  "9",
  "f",
  "-1",
  "+",
  "0x",
  "\r\n0\r\n\r\n",
];

/** Replaces a few characters, or none, by one piece, or removes them. */
export function mutate(text: string, more: readonly string[], random: () => number): string {
  const pick = pickBy(random);
  const at = Math.floor(random() * text.length);
  const cut = pick([0, 0, 1, 1, 2, 5]);
  return text.slice(0, at) + (random() < 0.8 ? pick([...common, ...more]) : "") + text.slice(at + cut);
}
