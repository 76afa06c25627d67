import { readFileSync } from "node:fs";

export const page = readFileSync("docs/kubernetes.md", "utf8");

/** A block of the page by the word behind its language. */
export function block(word: string): string {
  const [, text] = new RegExp(`^\`\`\`yaml ${word}\n(.*?)^\`\`\``, "ms").exec(page) ?? [];
  if (text === undefined) throw new Error(`the page has no block ${word}`);
  return text;
}

/** What the page has its reader type below a heading, block by block. */
export function commandsBelow(heading: string): readonly string[] {
  const [, section] = new RegExp(`^## ${heading}\n(.*?)(?=^## |(?![^]))`, "ms").exec(page) ?? [];
  if (section === undefined) throw new Error(`the page has no heading ${heading}`);
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = ""]) => text);
}
