/** Controls, format characters such as zero-width and bidi ones, blanks other than the space, fillers, and what stands for lost bytes. */
export const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc\ufffd]|(?! )\p{Zs}/u;
const names: Readonly<Record<string, string>> = {
  "\0": "NUL",
  "\t": "tab",
  "\n": "line break",
  "\r": "carriage return",
  " ": "blank",
  "\u00a0": "no-break space",
  "\u00ad": "soft hyphen",
  "\u200b": "zero-width space",
  "\u200c": "zero-width non-joiner",
  "\u200d": "zero-width joiner",
  "\u2028": "line separator",
  "\u2029": "paragraph separator",
  "\u202f": "narrow no-break space",
  "\u2060": "word joiner",
  "\ufeff": "byte order mark",
  "\ufffd": "replacement character",
};

/** `no-break space (U+00A0)`. */
export function describeCharacter(character: string): string {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  const unseen = /\p{Cc}/u.test(character) ? "control character" : "invisible character";
  return `${names[character] ?? (invisible.test(character) ? unseen : character)} (${code})`;
}

/** The end of a message about a text that may only look right: its first character that is not printable ASCII, if it has one. */
export function unusualIn(text: string): string {
  const characters = [...text];
  const index = characters.findIndex((character) => !/[\x20-\x7e]/.test(character));
  return index < 0 ? "" : `: it has ${describeCharacter(characters[index] ?? "")} at character ${index + 1}`;
}

/**
 * A text in quotes or a comment, in which any character may stand; else one that does not show, or a quote or dash of print at a
 * value's beginning, or a full-width colon after a key. An emoji, and words of some scripts, have such characters inside.
 */
const lookAlike = new RegExp(
  String.raw`(?<![^\s,[{:])(?:"(?:\\.|[^"\\])*"|'(?:[^']|'')*')|(?<!\S)#[^\n]*|` +
    String.raw`(?<odd>(?<![^\x00-\x7f])(?![\t\n\r])(?:${invisible.source})|` +
    String.raw`[\u00ab\u2010-\u201f\u2212](?<=(?:^|[-:,[{\n])\s*.)|\uff1a(?<=(?:^|\n)[\s-]*\w+.))`,
  "gsu",
);

/** The first character of a YAML text that only looks like a blank, a quote or nothing, and what to do about it. */
export function findLookAlike(text: string) {
  if (!/[^\t\r\n\x20-\x7e]/.test(text)) return undefined;
  const found = [...text.matchAll(lookAlike)].find(({ groups }) => groups?.["odd"] !== undefined);
  const odd = found?.groups?.["odd"] ?? "";
  if (found === undefined) return undefined;
  const name = describeCharacter(odd);
  const unseen = /\p{Z}/u.test(odd) ? `replace the ${name} by a blank` : `remove the ${name}`;
  const fix = invisible.test(odd) ? unseen : "write the character of ASCII: \" ' - or :";
  return { message: `this only looks right: ${name}`, fix, offset: found.index };
}

export const template = {
  message: "this is a template that was not rendered",
  fix: "render it first, as `helm template` does, and give the result",
};
/** What other tools leave in a file. */
const foreign = [
  {
    mark: /^(?:<{7}|={7}|>{7})(?!\S)/m,
    message: "this is a mark of a git merge",
    fix: "keep one of the two sides, and remove the marks",
  },
  { mark: /(?<=^[^#"'\n]*)\{[{%]/m, ...template },
];

/** The first mark of another tool in a YAML text, and what to do about it. */
export function findForeign(text: string) {
  const [found] = foreign.flatMap(({ mark, ...words }) => {
    const offset = text.search(mark);
    return offset < 0 ? [] : [{ ...words, offset }];
  });
  return found;
}
