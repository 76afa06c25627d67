import { createHash } from "node:crypto";

/** SHA-256 of a text's UTF-8, in base64url: 43 characters, however long the text is. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("base64url");
}
