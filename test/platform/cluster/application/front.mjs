// TLS in front of the simulated service, which has no TLS: each host name leads to one of its ports.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { pipeline } from "node:stream";
import { createServer } from "node:tls";

const ports = { "api.sandbox.example": 7421, "login.sandbox.example": 7422 };
const [cert, key] = ["tls.crt", "tls.key"].map((name) => readFileSync(`/run/secrets/hosts/${name}`));

createServer({ cert, key }, (socket) => {
  const port = ports[socket.servername];
  if (port === undefined) return socket.destroy();
  const behind = connect(port, "127.0.0.1");
  pipeline(socket, behind, () => {});
  pipeline(behind, socket, () => {});
}).listen(8443);
