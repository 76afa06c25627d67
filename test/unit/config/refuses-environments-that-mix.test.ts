import { production, sound } from "../../../testkit/config-folder.ts";
import { instead, itRefuses, type Refusal } from "./refusal.ts";

const twoEnvironments = (edit: (text: string) => string): string => `${sound}${edit(production)}`;

const addresses: readonly Refusal[] = [
  {
    what: "baseUrl and authUrl with the same origin",
    yaml: instead(
      "    authUrl: https://login.sandbox.example\n",
      "    authUrl: https://api.sandbox.example:443/login # here",
    ),
    path: "environments.sandbox.authUrl",
    message: /same origin|origin of baseUrl/,
    fix: /authorization server/,
  },
  {
    what: "two environments sharing an API origin",
    yaml: twoEnvironments((text) =>
      text.replace("https://api.example\n", "https://api.sandbox.example/other # here\n"),
    ),
    path: "environments.production.baseUrl",
    message: /sandbox/,
    fix: /own/,
  },
  {
    what: "two environments sharing a login origin",
    yaml: twoEnvironments((text) => text.replace("https://login.example", "https://login.sandbox.example/x # here")),
    path: "environments.production.authUrl",
    message: /sandbox/,
    fix: /own/,
  },
  {
    what: "one environment's API at another's authorization server",
    yaml: twoEnvironments((text) => text.replace("https://api.example\n", "https://login.sandbox.example # here\n")),
    path: "environments.production.baseUrl",
    message: /sandbox/,
    fix: /own/,
  },
  {
    what: "two environments sharing a client id",
    yaml: twoEnvironments((text) =>
      text.replace("clientId: main-id", "clientId: blue-id").replace('ple" }', 'ple" } # here'),
    ),
    path: "environments.production.sites.S2000000001.credentials[0].clientId",
    message: /client id.*sandbox/,
    fix: /own/,
  },
  {
    what: "two environments sharing a client secret",
    yaml: twoEnvironments((text) =>
      text.replace("DIR/main", "DIR/blue/client-secret").replace('ple" }', 'ple" } # here'),
    ),
    path: "environments.production.sites.S2000000001.credentials[0].clientSecret",
    message: /secret.*sandbox/,
    fix: /own/,
  },
  {
    what: "two environments sharing a key identifier",
    yaml: `${twoEnvironments((text) => text)}        keys:\n          - { identifier: K2000000001, secret: { file: DIR/k2 } } # here\n`,
    path: "environments.production.sites.S2000000001.keys[0].identifier",
    message: /sandbox/,
    fix: /own/,
  },
  {
    what: "two environments sharing a key's secret",
    yaml: `${twoEnvironments((text) => text)}        keys:\n          - { identifier: K9, secret: { file: DIR/k1 } } # here\n`,
    path: "environments.production.sites.S2000000001.keys[0].secret",
    message: /secret.*sandbox/,
    fix: /own/,
  },
  {
    what: "http without allowPlaintext",
    yaml: instead(
      "    baseUrl: https://api.sandbox.example/json-api\n",
      "    baseUrl: http://api.sandbox.example # here",
    ),
    path: "environments.sandbox.baseUrl",
    message: /http/,
    fix: /https.*allowPlaintext/,
  },
  {
    what: "a baseUrl with a query",
    yaml: instead(
      "    baseUrl: https://api.sandbox.example/json-api\n",
      "    baseUrl: https://api.sandbox.example/?a=b # here",
    ),
    path: "environments.sandbox.baseUrl",
    message: /./,
    fix: /https?:\/\//,
  },
];

itRefuses("environments that mix", addresses);
