/** Row 60, among others: where the ports may and may not be. */
import { edited, production, sound } from "../../../testkit/config-folder.ts";
import { admin, at, fault, itRefuses, listener, withListener, withSecondListener, withStatus } from "./refusal.ts";

const socket = '  - { bind: "unix:/run/a.sock", environment: sandbox }';

const places = [
  fault("two listeners on one bind", withSecondListener('bind: "127.0.0.1:7411", environment: sandbox'), [
    "listeners[1].bind",
    /listeners\[0\]/,
    /own|another/,
  ]),
  fault(
    "two listeners on one socket",
    at(
      `${socket}
`,
      edited([
        listener,
        `${socket} 
${socket}
`,
      ]),
    ),
    ["listeners[1].bind", /listeners\[0\]/, /own|another/],
  ),
  fault(
    "one port of two environments at two addresses",
    withSecondListener('bind: "[::1]:7411", environment: production').concat(production),
    ["listeners[1].bind", /listeners\[0\]\.bind listens there already: 127\.0\.0\.1:7411/, /own/],
  ),
  ...["", "0.0.0.0", "[::]", "localhost"].map((host) =>
    fault(
      `a port at 127.0.0.1 and at "${host}"`,
      withSecondListener(`bind: "${host}:7411", environment: sandbox, callers: anyone`),
      ["listeners[1].bind", /listeners\[0\]/, /own/],
    ),
  ),
  fault("the admin port used by a listener", at(admin, edited([listener, listener.replace("7411", "7412")])), [
    "admin.bind",
    /listeners\[0\]/,
    /own|another/,
  ]),
  fault("one port for status and admin", withStatus('bind: "127.0.0.1:7412"'), ["status.bind", /admin/, /own|another/]),
  fault("status beyond loopback", withStatus('bind: ":7413"'), ["status.bind", /loopback/, /127\.0\.0\.1/]),
  fault("a listener for everyone without callers", withListener('bind: ":7411", environment: sandbox'), [
    "listeners[0].bind",
    /not on loopback/,
    /anyone/,
  ]),
  fault(
    "NODE_TLS_REJECT_UNAUTHORIZED=0",
    at("listeners:\n", sound),
    ["", /NODE_TLS_REJECT_UNAUTHORIZED/, /unset|remove/],
    { env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" } },
  ),
];

itRefuses("unsafe places to listen", places);
