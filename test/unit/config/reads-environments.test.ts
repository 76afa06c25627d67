/** What an environment may name, share and trust, and what not. */
import { createPrivateKey } from "node:crypto";
import {
  authority,
  clientCertificate,
  clientKey,
  serverKey,
  weakCertificate,
  weakKey,
} from "../../../testkit/certificates.ts";
import { edited, production, sound } from "../../../testkit/config-folder.ts";
import {
  admin,
  at,
  atTheEnd,
  authUrl,
  baseUrl,
  blue,
  fault,
  inSandbox,
  instead,
  itRefuses,
  key,
  lineOfSite1,
  lineOfSite3,
  operations,
  site1,
  site3,
  withKey,
  withListener,
  withSet,
  withSite,
} from "./refusal.ts";

/** A refusal with this replacement in the second environment; the fault is in the replaced line. */
function ofSecond(from: string, to: string, said: string) {
  const text = production.replace(from, to);
  const line = text.split("\n").find((each) => each.includes(to)) ?? "";
  return fault(at(`${line}\n`, `${sound}${text}`), `environments.production.${said}`);
}

const site2 = "sites.S2000000001";
const ofKey = (entry: string, said: string) =>
  fault(`${sound}${production}        keys: [ { ${entry} } ] # here\n`, `environments.production.${site2}.${said}`);
const withBaseUrl = (url: string, said: string) => fault(instead(baseUrl, `baseUrl: ${url}`), `.baseUrl: ${said}`);

itRefuses("environments that mix", [
  fault(instead(authUrl, "authUrl: https://api.sandbox.example:443/a"), ".authUrl: same origin … authorization server"),
  ofSecond("https://api.example", "https://api.sandbox.example/other", "baseUrl: sandbox … own"),
  ofSecond("https://login.example", "https://login.sandbox.example/x", "authUrl: sandbox … own"),
  ofSecond("https://api.example", "https://login.sandbox.example", "baseUrl: sandbox … own"),
  ofSecond("main-id", "blue-id", `${site2}.credentials[0].clientId: client id … sandbox … own`),
  ofSecond("DIR/main", "DIR/blue/client-secret", `${site2}.credentials[0].clientSecret: secret … sandbox … own`),
  ofKey("identifier: K2000000001, secret: { file: DIR/k2 }", "keys[0].identifier: sandbox … own"),
  ofKey("identifier: K9, secret: { file: DIR/k1 }", "keys[0].secret: secret … sandbox … own"),
  withBaseUrl("http://api.sandbox.example", "http … https … allowPlaintext"),
  withBaseUrl("https://api.sandbox.example/?a=b", "https://"),
]);

itRefuses("a service that is this process", [
  ...["https://127.0.0.1:7411/json-api", "https://localhost:7411"].map((url) =>
    withBaseUrl(url, "this process listens there itself: listeners[0].bind … other program"),
  ),
  withBaseUrl("https://localhost:7412", "this process listens there itself: admin.bind"),
  ...["0.0.0.0", "[::]"].map((host) => {
    const own = "    baseUrl: https://127.0.0.1:7412\n";
    const text = edited([admin, `admin: { bind: "${host}:7412" }\n`], [baseUrl, own]);
    return fault(at(own, text), ".baseUrl: this process listens there itself: admin.bind");
  }),
  fault(instead(authUrl, "authUrl: https://localhost:7411"), ".authUrl: this process listens there itself"),
]);

const neverForwarded =
  "Authorization proxy-authorization Cookie host content-length transfer-encoding connection te trailer upgrade " +
  "keep-alive expect content-encoding content-type accept via Countersign-Site";

itRefuses("names that mean nothing", [
  fault(instead("    defaultSite: S1000000001\n", "defaultSite: S4"), ".defaultSite: no such site … S1000000001"),
  withBaseUrl(
    "https://api.sandbox.example/a/create_order",
    "ends with /create_order … write https://api.sandbox.example/a",
  ),
  fault(withListener('bind: "127.0.0.1:7411", environment: sandbx'), "listeners[0].environment: environment … sandbox"),
  fault(at(lineOfSite3, edited([blue, `${blue}        children: { S1000000003: {} }\n`])), `${site3}: twice`),
  fault(
    at(key, edited([blue, `${blue}        keys: [ { identifier: K2000000001, secret: { file: DIR/k2 } } ]\n`])),
    `${site3}.keys[0].identifier: S1000000001`,
  ),
  fault(withSite("X1: { credentials: [] }"), ".sites.X1: this name is not allowed here … write S and"),
  fault(withKey("identifier: S5, secret: { file: DIR/k1 }"), `${site3}.keys[0].identifier: form … write K and`),
  fault(instead(operations, 'operations: [create_order, "*"]'), ".operations[1]: * … alone"),
  fault(instead(operations, "operations: [../create_order]"), ".operations[0]: form … segments"),
  fault(instead(operations, "operations: [.countersign/once/x]"), ".operations[0]: form … segments"),
  fault(instead(operations, "operations: []"), ".operations: empty"),
  ...neverForwarded
    .split(" ")
    .map((name) => fault(inSandbox(`forwardHeaders: [x-tenant, ${name}]`), ".forwardHeaders[1]: never … remove")),
  fault(inSandbox("forwardHeader: [x-tenant]"), ".forwardHeader: no key … did you mean forwardHeaders"),
  fault(atTheEnd("retries: 3"), "retries: no key retries here; remove it"),
  fault(
    inSandbox("level: info"),
    ".level: no key level here; move it to log.level, or remove it; possible keys: baseUrl",
  ),
  fault(inSandbox("timeouts: {}"), ".timeouts: no key … here; move it to timeouts, or"),
  fault(atTheEnd("authUrl: https://a"), "authUrl: no key … belongs at environments.sandbox.authUrl, in place"),
  fault(inSandbox("dir: DIR"), ".dir: no key … belongs at … .credentials[0].dir, in place"),
  fault(inSandbox("bind: DIR"), ".bind: no key bind here; remove it"),
  fault(
    at(
      lineOfSite1,
      edited(["    sites:\n", "    sites:\n      folder: DIR\n"], [`${lineOfSite3}        keys:\n${key}`, ""]),
    ),
    `${site1}: S1000000001 does not go with folder; remove S1000000001, or remove folder`,
  ),
  fault(
    withSet("name: green, clientID: g, clientSecret: { file: DIR/green }, audience: a"),
    `${site1}.credentials[0].clientID: no key … did you mean clientId`,
  ),
]);

const files = { ca: authority, cert: clientCertificate, key: clientKey, other: serverKey };
const wrong = (settings: string, said: string, changed: Partial<typeof files> = {}) =>
  fault(inSandbox(`tls: { ${settings} }`), `.tls.${said}`, { ...files, ...changed });

const encryptedKey = createPrivateKey(clientKey)
  .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "canary" })
  .toString();
const pair = "certFile: DIR/cert, keyFile: DIR/key";
const damagedSecond = `${authority}${authority.replace("MIIB", "MIIX")}`;
const endlessFirst = `${authority.replace(/-----END.*/, "")}${authority}`;

itRefuses("broken TLS files", [
  wrong("certFile: DIR/cert", "keyFile: no key … keyFile"),
  wrong("keyFile: DIR/key", "certFile: no certificate … certFile"),
  wrong("certFile: DIR/cert, keyFile: DIR/other", "keyFile: not the certificate's … certFile"),
  wrong("caFile: DIR/k1", "caFile: no certificate … PEM"),
  wrong("caFile: DIR/ca", "caFile: damaged … PEM", { ca: damagedSecond }),
  wrong("caFile: DIR/ca", "caFile: damaged … PEM", { ca: endlessFirst }),
  wrong(pair, "keyFile: no private key … passphrase", { key: clientKey.replace("MIGH", "MIGX") }),
  wrong(pair, "keyFile: has a passphrase … without a passphrase", { key: encryptedKey }),
  wrong(pair, "certFile: OpenSSL … too weak", { cert: weakCertificate, key: weakKey }),
  wrong("caFile: DIR/nothing", "caFile: ENOENT … create the file"),
]);
