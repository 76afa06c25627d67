import type { Secret } from "../model/secret.ts";
import type { SecretSource } from "./fields.ts";
import type { Reading } from "./load-context.ts";
import type { Path } from "./problem.ts";

const sixtyFourHexDigits = /^[0-9a-f]{64}$/i;
const oneDigitOnly = /^(.)\1*$/i;
const fix = "make one with `countersign keygen`";

/** Reads the keys that seal tokens in Redis: 32 bytes each, written as hex digits. */
export async function readEncryptionKeys(
  sources: readonly SecretSource[],
  path: Path,
  reading: Reading,
): Promise<readonly [Secret, ...Secret[]] | undefined> {
  const { findings } = reading;
  if (sources.length === 0) {
    const message = "tokens in Redis are encrypted, and there is no key";
    return findings.conclude([path], path, message, `${fix} and name its file here`);
  }
  const keys: Secret[] = [];
  for (const [index, source] of sources.entries()) {
    const at: Path = [...path, index];
    const key = await readKey(source, at, reading);
    if (key === undefined) continue;
    if (keys.some((earlier) => earlier.equals(key))) {
      const message = "this key is here already: a key that is being replaced needs another beside it";
      findings.refuse(at, message, `remove it, or ${fix}`, "hidden");
    }
    keys.push(key);
  }
  const [first, ...others] = keys;
  return first === undefined ? undefined : [first, ...others];
}

async function readKey(source: SecretSource, path: Path, { findings, secrets }: Reading): Promise<Secret | undefined> {
  const written = await secrets.secret(source, path);
  if (written === undefined) return undefined;
  const digits = written.reveal();
  if (!sixtyFourHexDigits.test(digits)) {
    return findings.refuse(path, "the key is not 64 hex digits", fix, "hidden");
  }
  if (oneDigitOnly.test(digits)) {
    return findings.refuse(path, "the key is one digit 64 times: anybody would try it", fix, "hidden");
  }
  return secrets.decode(written, Buffer.from(digits, "hex"));
}
