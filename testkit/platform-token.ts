/** A token as a platform mounts it; no code here verifies its signature. Times in seconds since 1970. */
export function platformToken(claims: Readonly<Record<string, unknown>>): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  return `${encode({ alg: "RS256", kid: "platform" })}.${encode(claims)}.canary-signature-of-the-platform`;
}

/** A platform token that expires in this many seconds. */
export function tokenFor(seconds: number, claims: object = {}): string {
  const exp = Math.floor(Date.now() / 1_000) + seconds;
  return platformToken({ iss: "https://cluster.example", sub: "system:serviceaccount:a:b", exp, ...claims });
}
