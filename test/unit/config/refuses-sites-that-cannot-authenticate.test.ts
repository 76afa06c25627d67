import { edited, sound } from "../../../testkit/config-folder.ts";
import {
  at,
  blue,
  fault,
  inSite1,
  inSite3,
  itRefuses,
  key,
  site1,
  site3,
  withKey,
  withSet,
  withSite,
} from "./refusal.ts";

const defaultKey = (name: string) => `          - { identifier: ${name}, default: true, secret: { file: DIR/k1 } }\n`;
const set = (name: string) =>
  `          - { name: ${name}, clientId: ${name}-id, clientSecret: { file: DIR/${name} }, audience: a }\n`;

const ofSet = (settings: string, said: string, files = {}) =>
  fault(withSet(settings), `${site1}.credentials[0].${said}`, files);

itRefuses("sites that cannot authenticate", [
  fault(inSite1('version: "2.0"'), `${site1}.version: OAuth … 2.0 … 3.0`),
  fault(
    withKey('identifier: K2000000001, version: "2.0", secret: { file: DIR/k1 }'),
    `${site3}.keys[0].version: 2.0 … 3.0 … site's version`,
  ),
  fault(
    inSite1("checkCallerSignature: report"),
    `${site1}.checkCallerSignature: no keys to check signatures with … add the keys that callers sign with`,
  ),
  fault(
    at("        keys:\n", edited([key, `${key}          - { identifier: K2, secret: { file: DIR/k2 } }\n`])),
    `${site3}.keys: exactly one default … default: true`,
  ),
  fault(
    at("        keys:\n", edited([key, ["K1", "K2"].map(defaultKey).join("")])),
    `${site3}.keys: exactly one default … default: true`,
  ),
  fault(
    at("        credentials:\n", edited([blue, `${blue}${["green", "main"].map(set).join("")}`])),
    `${site1}.credentials: at most two … remove`,
  ),
  ofSet("name: green, clientId: green-id, clientSecret: { file: DIR/green }", "audience: missing … add"),
  ofSet('name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: ""', "audience: empty"),
  fault(at(blue, sound), `${site1}.credentials[0].dir: audience … empty … blue/audience`, { "blue/audience": "\n" }),
  ofSet("name: blue, dir: DIR/other", "dir: cannot be read (ENOENT) … create", {
    "other/client-id": "other-id",
    "other/client-secret": "canary-client-secret-other",
  }),
  fault(
    edited([blue, `${blue}${set("green").replace("green", "blue").replace("\n", " # here\n")}`]),
    `${site1}.credentials[1].name: name`,
  ),
  ofSet(
    "name: blue, dir: DIR/blue, clientId: abc",
    "clientId: clientId does not go with … either name, dir, token or name, clientId, clientSecret, audience, privateKey, token",
  ),
  fault(inSite1("auth: [oauth, hmac]"), `${site1}.auth[1]: no keys … keys`),
  fault(inSite3("auth: [oauth]"), `${site3}.auth[0]: no credentials … credentials`),
  fault(inSite1("bridge: hmac"), `${site1}.bridge: OAuth first … [oauth, hmac]`),
  fault(inSite3("bridge: hmac"), `${site3}.bridge: OAuth first … [oauth, hmac]`),
  fault(inSite1("auth: [oauth, oauth]"), `${site1}.auth[1]: twice … remove`),
  fault(withSite("S9: { decimals: [a] }"), ".sites.S9: neither credentials nor keys … credentials … keys"),
  fault(inSite1("version: 3.0"), `${site1}.version: number … quotes`),
  fault(
    withKey("identifier: K2000000001, version: 3.0, secret: { file: DIR/k1 }"),
    `${site3}.keys[0].version: number … quotes`,
  ),
  ...["version", "site_identifier", "timestamp"].map((name) =>
    fault(inSite3(`exempt: [format, ${name}]`), `${site3}.exempt[1]: must be signed … 5.2`),
  ),
]);
