import type { Chance } from "./chance.ts";
import { names, sites, values } from "./fragments.ts";

/** A body (latin1) of mostly sound JSON that carries the tag. */
export function drawBody(chance: Chance, tag: string): string {
  if (!chance.isLikely(60)) return soundBody(chance, tag);
  if (chance.isLikely(4)) return nested(chance, tag);
  if (chance.isLikely(3)) return `{"site_customer_identifier":"${tag}","a":"${"x".repeat(chance.below(300_000))}"}`;
  if (chance.isLikely(5)) return chance.bytes(chance.below(64)).toString("latin1");
  const pairs = [`"site_customer_identifier":"${tag}"`];
  for (let count = chance.below(7); count > 0; count--)
    pairs.splice(chance.below(pairs.length + 1), 0, drawPair(chance));
  const gap = chance.pick(["", "", "", " ", "\n", "\t\r\n", "\x0c"]);
  const separator = chance.isLikely(5) ? chance.pick([",,", ";", "", ",\0"]) : ",";
  const text = `{${gap}${pairs.join(separator + gap)}${gap}}`;
  return chance.isLikely(10) ? wrap(chance, text) : text;
}

function soundBody(chance: Chance, tag: string): string {
  const amount = `${chance.below(1_000)}.${chance.below(90) + 10}`;
  const site = chance.isLikely(30) ? `,"site_identifier":"${chance.pick(["S1000000001", "S1000000003"])}"` : "";
  return `{"order_amount":"${amount}","order_currency":"EUR","site_customer_identifier":"${tag}"${site}}`;
}

function drawPair(chance: Chance): string {
  const name = chance.pick(names);
  if (name === "site_identifier") return `"site_identifier":"${chance.pick(sites)}"`;
  if (name === "version") return `"version":${chance.pick(['"3.0"', "3.0", "3", '"2.0"', '"03.0"'])}`;
  return `"${name}"${chance.isLikely(3) ? chance.pick(["", "::", "="]) : ":"}${chance.pick(values)}`;
}

function nested(chance: Chance, tag: string): string {
  const depth = chance.pick([2, 200, 5_000, 60_000]);
  const [open, close] = chance.pick([
    ["[", "]"],
    ['{"a":', "}"],
  ]);
  const closed = chance.isLikely(60) ? close.repeat(depth) : "";
  return `{"site_customer_identifier":"${tag}","a":${open.repeat(depth)}1${closed}}`;
}

function wrap(chance: Chance, text: string): string {
  const utf16 = () => Buffer.from(text, "utf16le").toString("latin1");
  return chance.pick([
    () => `\xef\xbb\xbf${text}`,
    () => `${text}${text}`,
    () => `[${text}]`,
    () => `${text}\0`,
    () => `${text} }`,
    () => `\x1f\x8b${text}`,
    () => JSON.stringify(text),
    utf16,
  ])();
}
