import { describeCharacter, invisible } from "../files/characters.ts";
import { decodeText } from "../files/file-system.ts";

/**
 * What the bytes of a secret are: `line`, one line of text; `lines`, a text of several, such as PEM; `bytes`, the key of an HMAC,
 * which may be of any bytes.
 */
export type SecretForm = "line" | "lines" | "bytes";

/** A probable mistake in a secret, and its fix. It shows no character of the secret, except those that nobody sees. */
export type Mistake = readonly [what: string, fix: string];

const mostListed = 5;
const betweenLines = /[\t\n\r]/;

/** What bytes that are no UTF-8 are; undefined for UTF-8. UTF-16 of Latin letters alone is UTF-8 by its bytes, with a NUL for each. */
export function otherEncoding(bytes: Buffer): string | undefined {
  const [first, second] = bytes;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const zeros = bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0);
  if (hasMark || zeros * 3 >= bytes.length) return "UTF-16";
  return decodeText(bytes) === undefined ? "not UTF-8" : undefined;
}

/** The characters of a text that do not show, and where they are; undefined if there are none. Blanks count at the ends alone. */
export function invisibleIn(text: string, form: SecretForm = "line"): string | undefined {
  const characters = [...text];
  const isEdge = (index: number) => index === 0 || index === characters.length - 1;
  const found = characters.flatMap((character, index) => {
    const isAllowed = form === "lines" && betweenLines.test(character);
    const isFound = invisible.test(character) || (character === " " && isEdge(index));
    return isFound && !isAllowed ? [`${describeCharacter(character)} at character ${index + 1}`] : [];
  });
  const more = found.length - mostListed;
  const listed = found.slice(0, mostListed).join(", ");
  if (found.length === 0) return undefined;
  return more > 0 ? `${listed} and ${more} more` : listed;
}

/** The probable mistakes in a secret that is used all the same. */
export function mistakesIn(bytes: Buffer, form: SecretForm): Mistake[] {
  const encoding = otherEncoding(bytes);
  if (encoding !== undefined) {
    return [[`is ${encoding}, and its bytes are the key as they stand`, "save it as UTF-8 if the key is a text"]];
  }
  const text = bytes.toString("utf8");
  const unseen = invisibleIn(text, form);
  const mistakes: Mistake[] = [];
  if (unseen !== undefined) {
    mistakes.push([`has what does not show: ${unseen}`, "write the secret again without it, as with printf %s"]);
  }
  if (/^(["'`]).+\1$/s.test(text)) {
    mistakes.push(["stands in quotes, which are a part of it", "write the secret again without the quotes"]);
  }
  if (isEncodedText(text)) {
    const fix = "write the text itself; a Secret of Kubernetes takes it as stringData, or encoded once as data";
    mistakes.push(["is a text in Base64, which is used as it stands", fix]);
  }
  return mistakes;
}

/** Random keys in Base64 do not decode to a text: each byte would have to be printable by chance. */
function isEncodedText(text: string): boolean {
  const isBase64 = text.length >= 16 && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  return isBase64 && /^[\x20-\x7e]+\r?\n?$/.test(Buffer.from(text, "base64").toString("latin1"));
}
