import { production, sound } from "../../../testkit/config-folder.ts";
import { at, authUrl, baseUrl, fault, instead, itRefuses } from "./refusal.ts";

const first = "environments.production.sites.S2000000001";
/** With these replacements in the second environment, of which the last is in the line with the fault. */
const withSecond = (...edits: readonly (readonly [from: string, to: string])[]): string => {
  const text = edits.reduce((before, [from, to]) => before.replace(from, to), production);
  const place = text.split("\n").find((line) => line.includes(edits.at(-1)?.[1] ?? "")) ?? "";
  return at(`${place}\n`, `${sound}${text}`);
};
const withKeyOfSecond = (entry: string) => `${sound}${production}        keys: [ { ${entry} } ] # here\n`;

itRefuses("environments that mix", [
  fault(
    instead(authUrl, "authUrl: https://api.sandbox.example:443/login"),
    ".authUrl: same origin … authorization server",
  ),
  fault(
    withSecond(["https://api.example", "https://api.sandbox.example/other"]),
    "environments.production.baseUrl: sandbox … own",
  ),
  fault(
    withSecond(["https://login.example", "https://login.sandbox.example/x"]),
    "environments.production.authUrl: sandbox … own",
  ),
  fault(
    withSecond(["https://api.example", "https://login.sandbox.example"]),
    "environments.production.baseUrl: sandbox … own",
  ),
  fault(
    withSecond(["clientId: main-id", "clientId: blue-id"]),
    `${first}.credentials[0].clientId: client id … sandbox … own`,
  ),
  fault(
    withSecond(["DIR/main", "DIR/blue/client-secret"]),
    `${first}.credentials[0].clientSecret: secret … sandbox … own`,
  ),
  fault(
    withKeyOfSecond("identifier: K2000000001, secret: { file: DIR/k2 }"),
    `${first}.keys[0].identifier: sandbox … own`,
  ),
  fault(withKeyOfSecond("identifier: K9, secret: { file: DIR/k1 }"), `${first}.keys[0].secret: secret … sandbox … own`),
  fault(instead(baseUrl, "baseUrl: http://api.sandbox.example"), ".baseUrl: http … https … allowPlaintext"),
  fault(instead(baseUrl, "baseUrl: https://api.sandbox.example/?a=b"), ".baseUrl: https://"),
]);
