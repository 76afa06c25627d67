#!/usr/bin/env bash
# got 14.6.6: a POST that is answered 302 is sent again, with its body, to the new address.
# Guess: a GET follows, as with fetch and browsers (RFC 9110 section 15.4.3 allows it); only 307 and 308 keep the method.
# Found: POST with the body. Behind a login page that answers 302, the order goes to the login page.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . got@14.6.6

cat >try.mjs <<'END'
import { createServer } from "node:http";
import got from "got";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  console.log(`${request.method} ${request.url} ${body}`.trim());
  if (request.url === "/moved") response.end("{}");
  else response.writeHead(302, { location: "/moved" }).end();
});
server.listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  await got.post(`${url}/by-got`, { json: { order: 1 } });
  await fetch(`${url}/by-fetch`, { method: "POST", body: '{"order":1}' });
  server.close();
  server.closeAllConnections();
});
END

diff - <(node try.mjs) <<'END'
POST /by-got {"order":1}
POST /moved {"order":1}
POST /by-fetch {"order":1}
GET /moved
END
