import { edited } from "../../../testkit/config-folder.ts";
import {
  at,
  baseUrl,
  blue,
  fault,
  inSandbox,
  instead,
  itRefuses,
  key,
  lineOfSite3,
  operations,
  site1,
  site3,
  withKey,
  withListener,
  withSet,
  withSite,
} from "./refusal.ts";

const neverForwarded =
  "Authorization proxy-authorization Cookie host content-length transfer-encoding connection te trailer upgrade " +
  "keep-alive expect content-encoding content-type accept via Countersign-Site";

itRefuses("names that mean nothing", [
  fault(instead("    defaultSite: S1000000001\n", "defaultSite: S4"), ".defaultSite: no such site … S1000000001"),
  fault(
    instead(baseUrl, "baseUrl: https://api.sandbox.example/json-api/create_order"),
    ".baseUrl: ends with /create_order … write https://api.sandbox.example/json-api",
  ),
  fault(withListener('bind: "127.0.0.1:7411", environment: sandbx'), "listeners[0].environment: environment … sandbox"),
  fault(at(lineOfSite3, edited([blue, `${blue}        children: { S1000000003: {} }\n`])), `${site3}: twice`),
  fault(
    at(key, edited([blue, `${blue}        keys: [ { identifier: K2000000001, secret: { file: DIR/k2 } } ]\n`])),
    `${site3}.keys[0].identifier: S1000000001`,
  ),
  fault(
    withSite("X1: { credentials: [ { name: a, dir: DIR/blue } ] }"),
    ".sites.X1: nothing can be called so … write S and",
  ),
  fault(withKey("identifier: S5, secret: { file: DIR/k1 }"), `${site3}.keys[0].identifier: form … write K and`),
  fault(instead(operations, 'operations: [create_order, "*"]'), ".operations[1]: * … alone"),
  fault(instead(operations, "operations: [../create_order]"), ".operations[0]: form … segments"),
  fault(instead(operations, "operations: []"), ".operations: empty"),
  ...neverForwarded
    .split(" ")
    .map((name) => fault(inSandbox(`forwardHeaders: [x-tenant, ${name}]`), ".forwardHeaders[1]: never … remove")),
  fault(inSandbox("forwardHeader: [x-tenant]"), ".forwardHeader: no key … did you mean forwardHeaders"),
  fault(
    withSet("name: green, clientID: g, clientSecret: { file: DIR/green }, audience: a"),
    `${site1}.credentials[0].clientID: no key … did you mean clientId`,
  ),
]);
