import type { Chance } from "./chance.ts";
import { headerLines, targets } from "./fragments.ts";
import { drawTag, type Input, withTag } from "./input.ts";
import { drawBody } from "./json.ts";
import { mutate } from "./mutate.ts";

/** The pipelined requests of all connections together stay below the limit of requests in flight. */
const mostPipelined = 6;
const mostSlices = 40;

/**
 * One connection: requests of which some are sound, some odd by design, and some mangled byte by byte.
 * @param cases kept inputs, from which some new ones are made
 */
export function generate(chance: Chance, cases: readonly Buffer[]): Input {
  const tag = drawTag(chance);
  const count = chance.isLikely(25) ? 2 + chance.below(mostPipelined - 1) : 1;
  const requests = Array.from({ length: count }, () => drawRequest(chance, tag));
  const kept = chance.isLikely(8) ? cases[chance.below(cases.length)] : undefined;
  const whole = kept === undefined ? Buffer.from(requests.join(""), "latin1") : withTag(kept, tag);
  const bytes = chance.isLikely(35) ? mutate(chance, whole, Buffer.from(drawRequest(chance, tag), "latin1")) : whole;
  return {
    door: chance.pick(["tcp", "unix"]),
    bytes,
    slices: drawSlices(chance, bytes.length),
    ending: chance.isLikely(15) ? chance.pick(["half_close", "leave"]) : "stay",
    tag,
  };
}

function drawRequest(chance: Chance, tag: string): string {
  const isOdd = chance.isLikely(45);
  const body = drawBody(chance, tag);
  const method = isOdd && chance.isLikely(15) ? chance.pick(["GET", "PUT", "HEAD", "TRACE", "post", "BLAH"]) : "POST";
  const target = isOdd && chance.isLikely(15) ? chance.pick(targets) : "/create_order";
  const version =
    isOdd && chance.isLikely(6) ? chance.pick(["HTTP/1.0", "HTTP/0.9", "HTTP/1.2", "HTTP/2.0"]) : "HTTP/1.1";
  const { lines: framing, bytes } = drawFraming(chance, body, isOdd);
  const lines = [chance.isLikely(3) ? "Host: a, b" : "Host: 127.0.0.1", "Content-Type: application/json", ...framing];
  if (chance.isLikely(35)) lines.push("Countersign-Site: S1000000003");
  if (isOdd) addLines(chance, lines);
  const end = isOdd && chance.isLikely(3) ? "\n" : "\r\n";
  return `${[`${method} ${target} ${version}`, ...lines].join(end)}${end}${end}${bytes}`;
}

function addLines(chance: Chance, lines: string[]): void {
  for (let count = chance.below(4); count > 0; count--) {
    lines.splice(chance.below(lines.length + 1), 0, chance.pick(headerLines));
  }
  if (chance.isLikely(2)) for (let count = 60 + chance.below(80); count > 0; count--) lines.push(`X-${count}: 1`);
  if (chance.isLikely(2)) lines.push(`X-Long: ${"x".repeat(chance.below(20_000))}`);
  if (chance.isLikely(3)) lines.splice(chance.below(lines.length), 1);
}

function drawFraming(chance: Chance, body: string, isOdd: boolean): { lines: string[]; bytes: string } {
  const { length } = body;
  if (isOdd && chance.isLikely(15)) return drawOddFraming(chance, body);
  if (chance.isLikely(30)) return { lines: ["Transfer-Encoding: chunked"], bytes: drawChunks(chance, body, isOdd) };
  return { lines: [`Content-Length: ${length}`], bytes: body };
}

function drawOddFraming(chance: Chance, body: string): { lines: string[]; bytes: string } {
  const { length } = body;
  const chunks = drawChunks(chance, body, true);
  return chance.pick<() => { lines: string[]; bytes: string }>([
    () => ({ lines: [`Content-Length: ${length}`, "Transfer-Encoding: chunked"], bytes: chunks }),
    () => ({ lines: ["Transfer-Encoding: chunked", `Content-Length: ${length}`], bytes: body }),
    () => ({ lines: [`Content-Length: ${length}`, `Content-Length: ${length}`], bytes: body }),
    () => ({ lines: [`Content-Length: ${length + chance.below(9) - 4}`], bytes: body }),
    () => ({ lines: [`Content-Length: ${chance.pick(["+", "-", "0x", " 0", ""])}${length}`], bytes: body }),
    () => ({ lines: [`Content-Length: ${chance.pick(["99999999999999999999", "", "1,1", "1e1"])}`], bytes: body }),
    () => ({
      lines: [`Transfer-Encoding: ${chance.pick(["x", "gzip, chunked", "chunked, x", "\x0bchunked"])}`],
      bytes: chunks,
    }),
    () => ({ lines: ["Transfer-Encoding : chunked"], bytes: chunks }),
    () => ({ lines: [], bytes: body }),
  ])();
}

function drawChunks(chance: Chance, body: string, isOdd: boolean): string {
  const chunks: string[] = [];
  for (let at = 0; at < body.length; ) {
    const piece = body.slice(at, at + 1 + chance.below(Math.max(64, body.length / 4)));
    const extension = isOdd && chance.isLikely(8) ? chance.pick([";a", ';a="b"', "; a = b", ";\n", " "]) : "";
    const size = isOdd && chance.isLikely(3) ? piece.length + chance.below(3) - 1 : piece.length;
    chunks.push(`${chance.isLikely(10) ? "00" : ""}${size.toString(16)}${extension}\r\n${piece}\r\n`);
    at += piece.length;
  }
  const trailers =
    isOdd && chance.isLikely(10) ? chance.pick(["X-Sum: 1\r\n", "Content-Length: 3\r\n", "Bad\r\n"]) : "";
  return `${chunks.join("")}0\r\n${trailers}\r\n`;
}

function drawSlices(chance: Chance, length: number): number[] {
  if (!chance.isLikely(40) || length < 2) return [];
  const count = 1 + chance.below(mostSlices);
  return Array.from({ length: count }, () => 1 + chance.below(length - 1)).sort((a, b) => a - b);
}
