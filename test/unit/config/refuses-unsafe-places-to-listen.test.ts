/** Row 60, among others: where the ports may and may not be. */
import { edited, production, sound } from "../../../testkit/config-folder.ts";
import { admin, at, fault, itRefuses, listener, withListener, withSecondListener, withStatus } from "./refusal.ts";

const socket = '  - { bind: "unix:/run/a.sock", environment: sandbox }';

const ofSecond = (entry: string, said: string) => fault(withSecondListener(entry), `listeners[1].bind: ${said}`);

itRefuses("unsafe places to listen", [
  ofSecond('bind: "127.0.0.1:7411", environment: sandbox', "listeners[0] … own"),
  fault(at(`${socket}\n`, edited([listener, `${socket} \n${socket}\n`])), "listeners[1].bind: listeners[0] … own"),
  fault(
    withSecondListener('bind: "[::1]:7411", environment: production').concat(production),
    "listeners[1].bind: listeners[0].bind listens there already: 127.0.0.1:7411 … own",
  ),
  ...["", "0.0.0.0", "[::]", "localhost"].map((host) =>
    ofSecond(`bind: "${host}:7411", environment: sandbox, callers: anyone`, "listeners[0] … own"),
  ),
  fault(at(admin, edited([listener, listener.replace("7411", "7412")])), "admin.bind: listeners[0] … own"),
  fault(withStatus('bind: "127.0.0.1:7412"'), "status.bind: admin … own"),
  fault(withStatus('bind: ":7413"'), "status.bind: loopback … 127.0.0.1"),
  fault(withListener('bind: ":7411", environment: sandbox'), "listeners[0].bind: not on loopback … anyone"),
  fault(at("listeners:\n", sound), ": NODE_TLS_REJECT_UNAUTHORIZED … unset", {}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }),
]);
