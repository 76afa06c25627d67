import { edited } from "../../../testkit/config-folder.ts";
import { after, blue, inSandbox, instead, itRefuses, key, listener, type Refusal, site1, site3 } from "./refusal.ts";

const names: readonly Refusal[] = [
  {
    what: "an unknown default site",
    yaml: instead("    defaultSite: S1000000001\n", "    defaultSite: S4 # here"),
    path: "environments.sandbox.defaultSite",
    message: /no such site/,
    fix: /S1000000001/,
  },
  {
    what: "a listener's unknown environment",
    yaml: instead(listener, '  - { bind: "127.0.0.1:7411", environment: sandbx } # here'),
    path: "listeners[0].environment",
    message: /environment/,
    fix: /sandbox/,
  },
  {
    what: "a site given as a child too",
    yaml: edited([
      blue,
      `${blue}        children:
          S1000000003: {}
`,
    ]).replace("      S1000000003:\n        keys", "      S1000000003: # here\n        keys"),
    path: site3,
    message: /twice|already/,
    fix: /./,
  },
  {
    what: "a key given twice",
    yaml: edited([
      blue,
      `${blue}        keys:
          - { identifier: K2000000001, secret: { file: DIR/k2 } }
`,
    ]).replace("DIR/k1 } }", "DIR/k1 } } # here"),
    path: `${site3}.keys[0].identifier`,
    message: /S1000000001|already|twice/,
    fix: /./,
  },
  {
    what: "a site identifier without S",
    yaml: after("    sites:\n", "      X1: { credentials: [ { name: a, dir: DIR/blue } ] } # here"),
    path: "environments.sandbox.sites.X1",
    message: /nothing can be called so/,
    fix: /write S and/,
  },
  {
    what: "a key identifier without K",
    yaml: instead(key, "          - { identifier: S5, secret: { file: DIR/k1 } } # here"),
    path: `${site3}.keys[0].identifier`,
    message: /form/,
    fix: /write K and/,
  },
  {
    what: "a star among other operations",
    yaml: instead(inSandbox, '    operations: [create_order, "*"] # here'),
    path: "environments.sandbox.operations[1]",
    message: /\*/,
    fix: /alone|\["\*"\]/,
  },
  {
    what: "an operation that is not a path of plain segments",
    yaml: instead(inSandbox, "    operations: [../create_order] # here"),
    path: "environments.sandbox.operations[0]",
    message: /form/,
    fix: /segments/,
  },
  {
    what: "no operations",
    yaml: instead(inSandbox, "    operations: [] # here"),
    path: "environments.sandbox.operations",
    message: /empty/,
    fix: /./,
  },
  ...[
    "Authorization",
    "proxy-authorization",
    "Cookie",
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "expect",
    "content-encoding",
    "content-type",
    "accept",
    "via",
    "Countersign-Site",
  ].map((name) => ({
    what: `${name} among forwardHeaders`,
    yaml: after(inSandbox, `    forwardHeaders: [x-tenant, ${name}] # here`),
    path: "environments.sandbox.forwardHeaders[1]",
    message: /never/,
    fix: /remove/,
  })),
  {
    what: "an unknown key",
    yaml: after(inSandbox, "    forwardHeader: [x-tenant] # here"),
    path: "environments.sandbox.forwardHeader",
    message: /no key/,
    fix: /did you mean forwardHeaders/,
  },
  {
    what: "an unknown key in a credential set",
    yaml: instead(
      blue,
      "          - { name: green, clientID: g, clientSecret: { file: DIR/green }, audience: a } # here",
    ),
    path: `${site1}.credentials[0].clientID`,
    message: /no key/,
    fix: /did you mean clientId/,
  },
];

itRefuses("names that mean nothing", names);
