import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../model/secret.ts";

/** HMAC-SHA256 over the UTF-8 bytes, in 64 lowercase hexadecimal digits (spec 5.2 steps 5 and 6). */
export function sign(text: string, secret: Secret): string {
  return createHmac("sha256", secret.key).update(text, "utf8").digest("hex");
}

/** Whether the signature is the text's, to the letter; the time taken does not tell how much of it is right. */
export function verify(text: string, secret: Secret, signature: string): boolean {
  const expected = Buffer.from(sign(text, secret), "utf8");
  const given = Buffer.from(signature, "utf8");
  return given.length === expected.length && timingSafeEqual(given, expected);
}
