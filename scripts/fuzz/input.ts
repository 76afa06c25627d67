import type { Chance } from "./chance.ts";

/** What one connection does: bytes in pieces, and how it ends. */
export interface Input {
  readonly door: "tcp" | "unix";
  readonly bytes: Buffer;
  /** Where the bytes are cut into writes of their own, ascending. */
  readonly slices: readonly number[];
  /** `stay`: until all answers are there. `half_close`: says its last word and listens on. `leave`: is gone after writing. */
  readonly ending: "stay" | "half_close" | "leave";
  /** Stands in its bodies and nowhere else, so that what arrives upstream can be told apart. */
  readonly tag: string;
}

const tagPattern = /t[0-9a-f]{12}/g;

export function drawTag(chance: Chance): string {
  return `t${chance.hex(12)}`;
}

export function tagsIn(text: string): readonly string[] {
  return text.match(tagPattern) ?? [];
}

/** The bytes of another input as one's own. */
export function withTag(bytes: Buffer, tag: string): Buffer {
  return Buffer.from(bytes.toString("latin1").replaceAll(tagPattern, tag), "latin1");
}
