import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Chance } from "./chance.ts";

/** The behaviour of one connection: its bytes in pieces, and its end. */
export interface Input {
  readonly door: "tcp" | "unix";
  readonly bytes: Buffer;
  /** The positions at which the bytes are cut into separate writes, ascending. */
  readonly slices: readonly number[];
  /** `stay`: until all answers have come. `half_close`: ends its sending, and reads on. `leave`: closes after writing. */
  readonly ending: "stay" | "half_close" | "leave";
  /** A text in this input's bodies only, by which its requests are recognised upstream. */
  readonly tag: string;
}

const tagPattern = /t[0-9a-f]{12}/g;

export function drawTag(chance: Chance): string {
  return `t${chance.hex(12)}`;
}

export function tagsIn(text: string): readonly string[] {
  return text.match(tagPattern) ?? [];
}

/** The bytes of another input, with this tag. */
export function withTag(bytes: Buffer, tag: string): Buffer {
  return Buffer.from(bytes.toString("latin1").replaceAll(tagPattern, tag), "latin1");
}

/** One or more connections at the same time that once broke a promise, or that are worth keeping. */
export interface Case {
  /** Why it is kept; for a finding, the oracle's code and its observation. */
  readonly why: string;
  /** Seed of the run that found the case; absent for a case made by hand. */
  readonly seed?: number;
  readonly inputs: readonly Input[];
}

interface StoredInput extends Partial<Pick<Input, "door" | "ending">>, Pick<Input, "tag"> {
  /** Numbers with spaces between, so that a formatter leaves them alone. */
  readonly slices?: string;
  /** latin1 */
  readonly text: string;
}

export const findingsFolder = "test/fuzz/findings";
export const keptFolder = "test/fuzz/kept";

/** @returns the file's path: the same case twice is one file */
export function writeCase(folder: string, { inputs, ...rest }: Case): string {
  const stored = inputs.map(
    ({ bytes, slices, ...input }): StoredInput => ({
      ...input,
      slices: slices.join(" "),
      text: bytes.toString("latin1"),
    }),
  );
  const hash = createHash("sha256")
    .update(stored.map(({ text }) => text).join("\n"))
    .digest("hex");
  const file = join(folder, `${hash.slice(0, 10)}.json`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify({ ...rest, inputs: stored }, null, 2)}\n`);
  return file;
}

function readCase(file: string): Case {
  const { inputs, ...rest }: { why: string; inputs: readonly StoredInput[] } = JSON.parse(readFileSync(file, "utf8"));
  return { ...rest, inputs: inputs.map(restore) };
}

/** The cases of a folder by the paths of their files; none if there is no folder. */
export function readCases(folder: string): readonly (readonly [file: string, Case])[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")) : [];
  return names.sort().map((name) => [join(folder, name), readCase(join(folder, name))] as const);
}

function restore({ door = "tcp", ending = "stay", slices = "", text, tag }: StoredInput): Input {
  const numbers = slices.split(" ").filter(Boolean).map(Number);
  return { door, ending, tag, slices: numbers, bytes: Buffer.from(text, "latin1") };
}
