import { createHmac, timingSafeEqual } from "node:crypto";
import { type Refusal, refuse } from "./refusals.ts";
import type { Identified, KeyOfSite } from "./sites.ts";

/** Names that are by default never part of the signature (spec 5.2 step 1). */
export const exemptNames: readonly string[] = ["format", "signature", "call"];

/** How strictly, and against which keys, signatures are verified. */
export interface SignatureRules {
  readonly exempt: readonly string[];
  /** `any` lifts spec 5.2 rule 3, for deployments that send e-mail addresses. */
  readonly characters: "strict" | "any";
  /** All keys: only to find the one that was used by mistake. */
  readonly keys: readonly KeyOfSite[];
}

type Parameters = ReadonlyMap<string, string>;

/** Checks a call without an Authorization header against the key that its `site_identifier` means (spec 5.2, 5.3). */
export function verifySignature(parameters: Parameters, who: Identified, rules: SignatureRules): Refusal | undefined {
  const signature = parameters.get("signature");
  const { key, site } = who;
  if (signature === undefined) return refuse("missing_parameter", "signature is missing, and so is Authorization");
  if (key === undefined) return refuse("key_missing", `site ${site.identifier} has no keys`);
  if (key.version !== parameters.get("version")) {
    return refuse("key_version_mismatch", `key ${key.key.identifier} has version ${key.version} (rule 6)`);
  }
  const character = rules.characters === "strict" ? refuseCharacters(parameters, rules.exempt) : undefined;
  if (character !== undefined) return character;
  if (!/^[0-9a-f]{64}$/.test(signature)) return refuse("signature_malformed", "not 64 lowercase hex digits");
  if (isSignatureOf(stringToSign(parameters, rules.exempt), key, signature)) return undefined;
  return refuse("signature_mismatch", explainMismatch(signature, parameters, key, rules));
}

/** Name and value, name and value, sorted by the bytes of the names, nothing in between (spec 5.2 steps 3 and 4). */
export function stringToSign(parameters: Parameters, exempt: readonly string[] = exemptNames): string {
  return [...parameters]
    .filter(([name]) => !exempt.includes(name))
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([name, value]) => name + value)
    .join("");
}

/** HMAC-SHA256 in lowercase hex (spec 5.2 steps 5 and 6). */
export function signatureOf(text: string, secret: string): string {
  return createHmac("sha256", secret).update(text, "utf8").digest("hex");
}

function isSignatureOf(text: string, { key }: KeyOfSite, signature: string): boolean {
  return timingSafeEqual(Buffer.from(signatureOf(text, key.secret)), Buffer.from(signature));
}

/** Spec 5.2 rule 3. */
function refuseCharacters(parameters: Parameters, exempt: readonly string[]): Refusal | undefined {
  for (const [name, value] of parameters) {
    const position = value.search(/[^A-Za-z0-9_.-]/);
    if (position >= 0 && !exempt.includes(name)) {
      return refuse("character_not_allowed", `${name}, character ${position + 1} (rule 3)`);
    }
  }
  return undefined;
}

/** Tries the usual mistakes (spec 5.2, 7), so that the answer names the mistake. */
function explainMismatch(
  signature: string,
  parameters: Parameters,
  key: KeyOfSite,
  { exempt, keys }: SignatureRules,
): string {
  const { identifier } = key.key;
  const signed = stringToSign(parameters, exempt);
  const other = keys.find((one) => one !== key && isSignatureOf(signed, one, signature));
  if (other !== undefined) return `signed with key ${other.key.identifier} instead of ${identifier} (wrong key)`;
  const mistake = wrongTexts(parameters, exempt).find(([, text]) => isSignatureOf(text, key, signature));
  return mistake?.[0] ?? `not the signature of these parameters by key ${identifier}`;
}

function wrongTexts(parameters: Parameters, exempt: readonly string[]): [mistake: string, text: string][] {
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
