/** Row 21: a secret that is empty, missing, or where secrets do not belong, is refused before a port opens. */
import { sound } from "../../../testkit/config-folder.ts";
import { at, blue, fault, inSandbox, itRefuses, key, site1, site3, withSecret, withSet } from "./refusal.ts";

const writtenOut = "never written into the configuration … { file: ";
const ofKey = `${site3}.keys[0].secret`;

itRefuses("missing and misplaced secrets", [
  fault(at(key, sound), `${ofKey}: empty … k1`, { k1: "\n" }),
  fault(withSecret("{ env: API_KEY }"), `${ofKey}: empty … API_KEY`, {}, { API_KEY: "" }),
  fault(withSecret("{ env: API_KEY }"), `${ofKey}: not set … API_KEY`),
  fault(withSecret("canary-api-secret-inline"), `${ofKey}: ${writtenOut}`),
  fault(
    withSet("name: green, clientId: g, clientSecret: canary-client-secret-inline, audience: a"),
    `${site1}.credentials[0].clientSecret: ${writtenOut}`,
  ),
  fault(withSecret("4242424242424242"), `${ofKey}: ${writtenOut}`),
  fault(inSandbox("egress: { proxy: 'http://p:3128', auth: 4242424242424242 }"), `.egress.auth: ${writtenOut}`),
  fault(withSecret("{ file: DIR/k1, env: API_KEY }"), `${ofKey}: { file: `),
  fault(withSecret("{ file: DIR/nothing }"), `${ofKey}: cannot be read … ENOENT … create the file`),
  fault(withSecret("{ file: DIR/blue }"), `${ofKey}: cannot be read … EISDIR`),
  fault(withSecret("{ file: /dev/null }"), `${ofKey}: cannot be read … no regular file … make it a file`),
  fault(at(blue, sound), `${site1}.credentials[0].dir: client id … printable … client-id`, {
    "blue/client-id": "one\ntwo\n",
  }),
]);
