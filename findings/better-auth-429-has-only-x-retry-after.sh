#!/usr/bin/env bash
# better-auth 1.7.25: its rate limiter answers without Retry-After.
# Guess: 429 with Retry-After (RFC 6585 section 4), in seconds, which clients and proxies obey.
# Found: only X-Retry-After, which no RFC knows. A client that reads Retry-After guesses when to come back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . better-auth@1.7.25

cat >try.mjs <<'END'
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";

const auth = betterAuth({
  baseURL: "http://127.0.0.1:3000",
  secret: "signs cookies, of which there are none",
  database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
  rateLimit: { enabled: true, window: 60, max: 1 },
});
const ask = () => auth.handler(new Request("http://127.0.0.1:3000/api/auth/ok", { headers: { "x-forwarded-for": "192.0.2.1" } }));
console.log((await ask()).status);
const { status, headers } = await ask();
console.log(status, "Retry-After:", headers.get("retry-after"), "X-Retry-After:", headers.get("x-retry-after"));
END

diff - <(node try.mjs) <<'END'
200
429 Retry-After: null X-Retry-After: 60
END
