/** Row 60, among others: where the ports may and may not be. */
import { edited, production } from "../../../testkit/config-folder.ts";
import { after, instead, itRefuses, listener, type Refusal } from "./refusal.ts";

const places: readonly Refusal[] = [
  {
    what: "two listeners on one bind",
    yaml: after(listener, '  - { bind: "127.0.0.1:7411", environment: sandbox } # here'),
    path: "listeners[1].bind",
    message: /listeners\[0\]/,
    fix: /own|another/,
  },
  {
    what: "two listeners on one socket",
    yaml: edited([
      listener,
      '  - { bind: "unix:/run/a.sock", environment: sandbox }\n  - { bind: "unix:/run/a.sock", environment: sandbox } # here\n',
    ]),
    path: "listeners[1].bind",
    message: /listeners\[0\]/,
    fix: /own|another/,
  },
  {
    what: "one port of two environments at two addresses",
    yaml: after(listener, '  - { bind: "[::1]:7411", environment: production } # here').concat(production),
    path: "listeners[1].bind",
    message: /listeners\[0\]\.bind listens there already: 127\.0\.0\.1:7411/,
    fix: /own/,
  },
  ...["", "0.0.0.0", "[::]", "localhost"].map((host) => ({
    what: `a port at 127.0.0.1 and at "${host}"`,
    yaml: after(listener, `  - { bind: "${host}:7411", environment: sandbox, callers: anyone } # here`),
    path: "listeners[1].bind",
    message: /listeners\[0\]/,
    fix: /own/,
  })),
  {
    what: "the admin port used by a listener",
    yaml: edited([listener, '  - { bind: "127.0.0.1:7412", environment: sandbox }\n']).replace(
      'admin: { bind: ":7412" }',
      'admin: { bind: ":7412" } # here',
    ),
    path: "admin.bind",
    message: /listeners\[0\]/,
    fix: /own|another/,
  },
  {
    what: "one port for status and admin",
    yaml: instead('status: { bind: "127.0.0.1:7413" }\n', 'status: { bind: "127.0.0.1:7412" } # here'),
    path: "status.bind",
    message: /admin/,
    fix: /own|another/,
  },
  {
    what: "status beyond loopback",
    yaml: instead('status: { bind: "127.0.0.1:7413" }\n', 'status: { bind: ":7413" } # here'),
    path: "status.bind",
    message: /loopback/,
    fix: /127\.0\.0\.1/,
  },
  {
    what: "a listener for everyone without callers",
    yaml: instead(listener, '  - { bind: ":7411", environment: sandbox } # here'),
    path: "listeners[0].bind",
    message: /not on loopback/,
    fix: /anyone/,
  },
  {
    what: "callers with a token written out",
    yaml: instead(listener, '  - { bind: ":7411", environment: sandbox, callers: { tokens: [canary-token] } } # here'),
    path: "listeners[0].callers.tokens[0]",
    message: /never written/,
    fix: /\{ file: /,
  },
  {
    what: "NODE_TLS_REJECT_UNAUTHORIZED=0",
    yaml: edited(["listeners:\n", "listeners: # here\n"]),
    env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
    path: "",
    message: /NODE_TLS_REJECT_UNAUTHORIZED/,
    fix: /unset|remove/,
  },
];

itRefuses("unsafe places to listen", places);
