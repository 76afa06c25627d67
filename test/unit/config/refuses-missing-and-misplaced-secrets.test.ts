/** Row 21: a secret that is empty, missing, or where secrets do not belong, is refused before a port opens. */
import { sound } from "../../../testkit/config-folder.ts";
import { at, blue, fault, inSandbox, itRefuses, key, site1, site3, withSecret, withSet } from "./refusal.ts";

const writtenOut = [/never written into the configuration/, /\{ file: /] as const;
const ofKey = `${site3}.keys[0].secret`;

const secrets = [
  fault("an empty secret", at(key, sound), [ofKey, /empty/, /k1/], { files: { k1: "\n" } }),
  fault("an empty secret from the environment", withSecret("{ env: API_KEY }"), [ofKey, /empty/, /API_KEY/], {
    env: { API_KEY: "" },
  }),
  fault("an environment variable that is not set", withSecret("{ env: API_KEY }"), [ofKey, /not set/, /API_KEY/]),
  fault("a secret written out", withSecret("canary-api-secret-inline"), [ofKey, ...writtenOut]),
  fault(
    "a client secret written out",
    withSet("name: green, clientId: g, clientSecret: canary-client-secret-inline, audience: a"),
    [`${site1}.credentials[0].clientSecret`, ...writtenOut],
  ),
  fault("a secret that is a number", withSecret("4242424242424242"), [ofKey, ...writtenOut]),
  fault(
    "a proxy's password that is a number",
    inSandbox("egress: { proxy: 'http://p:3128', auth: 4242424242424242 }"),
    [".egress.auth", ...writtenOut],
  ),
  fault("a secret from a file and the environment", withSecret("{ file: DIR/k1, env: API_KEY }"), [
    ofKey,
    /./,
    /\{ file: /,
  ]),
  fault("a secret file that is missing", withSecret("{ file: DIR/nothing }"), [
    ofKey,
    /cannot be read.*ENOENT/,
    /create the file/,
  ]),
  fault("a secret file that is a folder", withSecret("{ file: DIR/blue }"), [ofKey, /cannot be read.*EISDIR/, /./]),
  fault("a secret file that is a device", withSecret("{ file: /dev/null }"), [
    ofKey,
    /cannot be read.*no regular file/,
    /make it a file/,
  ]),
  fault(
    "a client id that is not one printable line",
    at(blue, sound),
    [`${site1}.credentials[0].dir`, /client id.*printable/, /client-id/],
    { files: { "blue/client-id": "one\ntwo\n" } },
  ),
];

itRefuses("missing and misplaced secrets", secrets);
