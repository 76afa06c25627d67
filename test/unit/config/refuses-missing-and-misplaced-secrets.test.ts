/** Row 21: a secret that is empty, missing, or where secrets do not belong, is refused before a port opens. */
import { after, blue, inSandbox, instead, itRefuses, key, type Refusal, site1, site3 } from "./refusal.ts";

const secrets: readonly Refusal[] = [
  {
    what: "an empty secret",
    yaml: instead(key, `${key.trimEnd()} # here`),
    files: { k1: "\n" },
    path: `${site3}.keys[0].secret`,
    message: /empty/,
    fix: /k1/,
  },
  {
    what: "an empty secret from the environment",
    yaml: instead(key, "          - { identifier: K2000000001, secret: { env: API_KEY } } # here"),
    env: { API_KEY: "" },
    path: `${site3}.keys[0].secret`,
    message: /empty/,
    fix: /API_KEY/,
  },
  {
    what: "an environment variable that is not set",
    yaml: instead(key, "          - { identifier: K2000000001, secret: { env: API_KEY } } # here"),
    path: `${site3}.keys[0].secret`,
    message: /not set/,
    fix: /API_KEY/,
  },
  {
    what: "a secret written out",
    yaml: instead(key, "          - { identifier: K2000000001, secret: canary-api-secret-inline } # here"),
    path: `${site3}.keys[0].secret`,
    message: /never written into the configuration/,
    fix: /\{ file: /,
  },
  {
    what: "a client secret written out",
    yaml: instead(
      blue,
      "          - { name: green, clientId: g, clientSecret: canary-client-secret-inline, audience: a } # here",
    ),
    path: `${site1}.credentials[0].clientSecret`,
    message: /never written into the configuration/,
    fix: /\{ file: /,
  },
  {
    what: "a secret that is a number",
    yaml: instead(key, "          - { identifier: K2000000001, secret: 4242424242424242 } # here"),
    path: `${site3}.keys[0].secret`,
    message: /never written into the configuration/,
    fix: /\{ file: /,
  },
  {
    what: "a proxy's password that is a number",
    yaml: after(inSandbox, "    egress: { proxy: 'http://p:3128', auth: 4242424242424242 } # here"),
    path: "environments.sandbox.egress.auth",
    message: /never written into the configuration/,
    fix: /\{ file: /,
  },
  {
    what: "a secret from a file and the environment",
    yaml: instead(key, "          - { identifier: K2000000001, secret: { file: DIR/k1, env: API_KEY } } # here"),
    path: `${site3}.keys[0].secret`,
    message: /./,
    fix: /\{ file: /,
  },
  {
    what: "a secret file that is missing",
    yaml: instead(key, "          - { identifier: K2000000001, secret: { file: DIR/nothing } } # here"),
    path: `${site3}.keys[0].secret`,
    message: /cannot be read.*ENOENT/,
    fix: /create the file/,
  },
  {
    what: "a secret file that is a folder",
    yaml: instead(key, "          - { identifier: K2000000001, secret: { file: DIR/blue } } # here"),
    path: `${site3}.keys[0].secret`,
    message: /cannot be read.*EISDIR/,
    fix: /./,
  },
  {
    what: "a secret file that is a device",
    yaml: instead(key, "          - { identifier: K2000000001, secret: { file: /dev/null } } # here"),
    path: `${site3}.keys[0].secret`,
    message: /cannot be read.*no regular file/,
    fix: /make it a file/,
  },
  {
    what: "a client id that is not one printable line",
    yaml: instead(blue, `${blue.trimEnd()} # here`),
    files: { "blue/client-id": "one\ntwo\n" },
    path: `${site1}.credentials[0].dir`,
    message: /client id.*printable/,
    fix: /client-id/,
  },
];

itRefuses("missing and misplaced secrets", secrets);
