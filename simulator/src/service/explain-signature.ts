import type { KeyOfSite } from "./sites.ts";

/** A signature that does not fit, and what it was compared with. */
export interface Mismatch {
  readonly signature: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly exempt: readonly string[];
  /** The key it should have been made with. */
  readonly key: KeyOfSite;
  readonly keys: readonly KeyOfSite[];
  /** The right string to sign. */
  readonly signed: string;
  readonly isSignatureOf: (text: string, secret: string, signature: string) => boolean;
}

/** Tries the mistakes that people make (spec 5.2, 7), so that the answer names the one that was made. */
export function explainMismatch(mismatch: Mismatch): string {
  const { signature, key, keys, signed, isSignatureOf } = mismatch;
  const other = keys.find((one) => one !== key && isSignatureOf(signed, one.key.secret, signature));
  if (other !== undefined) {
    return `signed with key ${other.key.identifier} instead of ${key.key.identifier} (wrong key)`;
  }
  for (const [mistake, text] of wrongTexts(mismatch)) {
    if (isSignatureOf(text, key.key.secret, signature)) return mistake;
  }
  return `not the signature of these parameters by key ${key.key.identifier}`;
}

function wrongTexts({ parameters, exempt }: Mismatch): readonly (readonly [mistake: string, text: string])[] {
  const all = [...parameters].filter(([name]) => name !== "signature");
  const signed = all.filter(([name]) => !exempt.includes(name));
  const nameFirst = ([name, value]: readonly [string, string]) => name + value;
  const byName = (a: readonly [string, string], b: readonly [string, string]) => (a[0] < b[0] ? -1 : 1);
  return [
    ["the parameters were not sorted (wrong sort order)", signed.map(nameFirst).join("")],
    ["an exempt parameter was signed (exempt: format, signature, call)", all.toSorted(byName).map(nameFirst).join("")],
    [
      "the empty signature parameter was signed",
      [...all, ["signature", ""] as const].toSorted(byName).map(nameFirst).join(""),
    ],
    [
      "the value came before the name (rule 4)",
      signed
        .toSorted(byName)
        .map(([name, value]) => value + name)
        .join(""),
    ],
  ];
}
