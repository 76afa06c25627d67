import type { Chance } from "./chance.ts";
import { pieces } from "./fragments.ts";

const longest = 600_000;

/** Edits of bytes; `other` is the source of spliced bytes. */
const mutations: readonly ((chance: Chance, bytes: Buffer, other: Buffer) => Buffer)[] = [
  function flip(chance, bytes) {
    return withByte(chance, bytes, (byte) => byte ^ (1 << chance.below(8)));
  },
  function overwrite(chance, bytes) {
    return withByte(chance, bytes, () => chance.below(256));
  },
  function insert(chance, bytes) {
    const at = chance.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(chance.pick(pieces), "latin1"), bytes.subarray(at)]);
  },
  function remove(chance, bytes) {
    const at = chance.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + chance.below(chance.pick([1, 4, 40])))]);
  },
  function truncate(chance, bytes) {
    return bytes.subarray(0, 1 + chance.below(bytes.length));
  },
  function duplicate(chance, bytes) {
    const at = chance.below(bytes.length);
    const end = at + 1 + chance.below(chance.pick([4, 40, 400]));
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at, end), bytes.subarray(end)]);
  },
  function splice(chance, bytes, other) {
    const from = chance.below(other.length);
    return Buffer.concat([bytes.subarray(0, chance.below(bytes.length)), other.subarray(from)]);
  },
  function swapLines(chance, bytes) {
    const lines = bytes.toString("latin1").split("\r\n");
    const at = chance.below(lines.length);
    lines.splice(chance.below(lines.length), 0, ...lines.splice(at, 1));
    return Buffer.from(lines.join("\r\n"), "latin1");
  },
];

function withByte(chance: Chance, bytes: Buffer, change: (byte: number) => number): Buffer {
  const changed = Buffer.from(bytes);
  const at = chance.below(bytes.length);
  changed[at] = change(changed[at] ?? 0);
  return changed;
}

/** One to four edits. */
export function mutate(chance: Chance, bytes: Buffer, other: Buffer): Buffer {
  let mutated = bytes;
  for (let count = 1 + chance.below(4); count > 0 && mutated.length > 0; count--) {
    mutated = chance.pick(mutations)(chance, mutated, other);
  }
  return mutated.subarray(0, longest);
}
