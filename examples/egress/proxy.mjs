// A forward proxy that knows only CONNECT, to try egress. It resolves every name below .test to this machine.
// Usage: node proxy.mjs [port] [file with user:password]
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";

const [port = "3128", file] = process.argv.slice(2);
const wanted = file && `Basic ${readFileSync(file).toString("base64")}`;

const server = createServer((_, response) => response.writeHead(405, { allow: "CONNECT" }).end());
server.on("connect", (request, client, head) => {
  const refuse = (status) => client.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
  client.on("error", () => client.destroy());
  const isKnown = wanted === undefined || request.headers["proxy-authorization"] === wanted;
  process.stdout.write(`CONNECT ${request.url} ${isKnown ? 200 : 407}\n`);
  if (!isKnown) return refuse('407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="egress"');
  const { hostname, port } = new URL(`http://${request.url}`);
  const host = connect(Number(port || 80), hostname.endsWith(".test") ? "127.0.0.1" : hostname.replace(/[[\]]/g, ""));
  host.once("connect", () => {
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    host.write(head);
    client.pipe(host).pipe(client);
  });
  host.on("error", () => refuse("502 Bad Gateway"));
  client.on("close", () => host.destroy());
});
server.listen(Number(port), "127.0.0.1", () => process.stdout.write(`a proxy listens on 127.0.0.1:${port}\n`));
