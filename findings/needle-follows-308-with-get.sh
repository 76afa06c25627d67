#!/usr/bin/env bash
# needle 3.5.0: with `follow_max`, a POST that is answered 307 or 308 is followed by a GET without the body.
# Guess: the POST is repeated at the new address, since RFC 9110 sections 15.4.8 and 15.4.9 forbid another method.
# Found: a GET, whose 200 looks as if the order had been taken. `follow_keep_method: true` repeats the POST.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . needle@3.5.0

cat >try.mjs <<'END'
import { createServer } from "node:http";
import needle from "needle";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  console.log(`${request.method} ${request.url} ${body}`.trim());
  const status = /^\/(30\d)$/.exec(request.url)?.[1];
  if (status === undefined) response.end("{}");
  else response.writeHead(Number(status), { location: "/moved" }).end();
});
server.listen(0, "127.0.0.1", async () => {
  for (const status of [307, 308]) {
    const url = `http://127.0.0.1:${server.address().port}/${status}`;
    await needle("post", url, { order: 1 }, { json: true, follow_max: 1 });
  }
  server.close();
});
END

diff - <(node try.mjs) <<'END'
POST /307 {"order":1}
GET /moved
POST /308 {"order":1}
GET /moved
END
