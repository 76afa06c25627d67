#!/usr/bin/env bash
# superagent 10.4.2: `.retry(2)` sends a POST up to three times, also after its connection broke.
# Guess: only methods that are idempotent are repeated (RFC 9110 section 9.2.2), as in got, ky and urllib3.
# Found: a POST is repeated after a 503 and after a reset, when the server may have acted on it. Two retries, three orders.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . superagent@10.4.2

cat >try.mjs <<'END'
import { createServer } from "node:http";
import superagent from "superagent";

const counts = {};
const server = createServer(async (request, response) => {
  for await (const _ of request);
  counts[request.url] = (counts[request.url] ?? 0) + 1;
  if (request.url === "/reset") request.socket.destroy();
  else response.writeHead(503).end();
});
server.listen(0, "127.0.0.1", async () => {
  for (const path of ["/503", "/reset"]) {
    const url = `http://127.0.0.1:${server.address().port}${path}`;
    await superagent.post(url).retry(2).send({ order: 1 }).catch(() => {});
    console.log(`POST ${path}: ${counts[path]} times`);
  }
  server.close();
});
END

diff - <(node try.mjs) <<'END'
POST /503: 3 times
POST /reset: 3 times
END
