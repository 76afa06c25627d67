import { production, sound } from "../../../testkit/config-folder.ts";
import { at, authUrl, baseUrl, fault, instead, itRefuses } from "./refusal.ts";

/** With this replacement in the second environment, in the line with the fault. */
function ofSecond(from: string, to: string, said: string) {
  const text = production.replace(from, to);
  const line = text.split("\n").find((each) => each.includes(to)) ?? "";
  return fault(at(`${line}\n`, `${sound}${text}`), `environments.production.${said}`);
}

const ofKey = (entry: string, said: string) =>
  fault(
    `${sound}${production}        keys: [ { ${entry} } ] # here\n`,
    `environments.production.sites.S2000000001.${said}`,
  );

itRefuses("environments that mix", [
  fault(
    instead(authUrl, "authUrl: https://api.sandbox.example:443/login"),
    ".authUrl: same origin … authorization server",
  ),
  ofSecond("https://api.example", "https://api.sandbox.example/other", "baseUrl: sandbox … own"),
  ofSecond("https://login.example", "https://login.sandbox.example/x", "authUrl: sandbox … own"),
  ofSecond("https://api.example", "https://login.sandbox.example", "baseUrl: sandbox … own"),
  ofSecond(
    "clientId: main-id",
    "clientId: blue-id",
    "sites.S2000000001.credentials[0].clientId: client id … sandbox … own",
  ),
  ofSecond(
    "DIR/main",
    "DIR/blue/client-secret",
    "sites.S2000000001.credentials[0].clientSecret: secret … sandbox … own",
  ),
  ofKey("identifier: K2000000001, secret: { file: DIR/k2 }", "keys[0].identifier: sandbox … own"),
  ofKey("identifier: K9, secret: { file: DIR/k1 }", "keys[0].secret: secret … sandbox … own"),
  fault(instead(baseUrl, "baseUrl: http://api.sandbox.example"), ".baseUrl: http … https … allowPlaintext"),
  fault(instead(baseUrl, "baseUrl: https://api.sandbox.example/?a=b"), ".baseUrl: https://"),
]);
