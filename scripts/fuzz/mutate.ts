import type { Chance } from "./chance.ts";
import { pieces } from "./fragments.ts";

/** An edit of bytes; `other` is where spliced bytes come from. */
type Mutation = (chance: Chance, bytes: Buffer, other: Buffer) => Buffer;

const longest = 600_000;

const flip: Mutation = (chance, bytes) => {
  const flipped = Buffer.from(bytes);
  const at = chance.below(bytes.length);
  flipped[at] = (flipped[at] ?? 0) ^ (1 << chance.below(8));
  return flipped;
};

const overwrite: Mutation = (chance, bytes) => {
  const written = Buffer.from(bytes);
  written[chance.below(bytes.length)] = chance.below(256);
  return written;
};

const insert: Mutation = (chance, bytes) => {
  const at = chance.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(chance.pick(pieces), "latin1"), bytes.subarray(at)]);
};

const remove: Mutation = (chance, bytes) => {
  const at = chance.below(bytes.length);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + chance.below(chance.pick([1, 4, 40])))]);
};

const truncate: Mutation = (chance, bytes) => bytes.subarray(0, 1 + chance.below(bytes.length));

const duplicate: Mutation = (chance, bytes) => {
  const at = chance.below(bytes.length);
  const end = at + 1 + chance.below(chance.pick([4, 40, 400]));
  return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at, end), bytes.subarray(end)]);
};

const splice: Mutation = (chance, bytes, other) => {
  const from = chance.below(other.length);
  return Buffer.concat([bytes.subarray(0, chance.below(bytes.length)), other.subarray(from)]);
};

const swapLines: Mutation = (chance, bytes) => {
  const lines = bytes.toString("latin1").split("\r\n");
  const at = chance.below(lines.length);
  lines.splice(chance.below(lines.length), 0, ...lines.splice(at, 1));
  return Buffer.from(lines.join("\r\n"), "latin1");
};

const mutations: readonly [Mutation, ...Mutation[]] = [
  flip,
  overwrite,
  insert,
  remove,
  truncate,
  duplicate,
  splice,
  swapLines,
];

/** One to four edits. */
export function mutate(chance: Chance, bytes: Buffer, other: Buffer): Buffer {
  let mutated = bytes;
  for (let count = 1 + chance.below(4); count > 0 && mutated.length > 0; count--) {
    mutated = chance.pick(mutations)(chance, mutated, other);
  }
  return mutated.subarray(0, longest);
}
