import { edited, sound } from "../../../testkit/config-folder.ts";
import { after, atTheEnd, inSandbox, instead, itRefuses, key, type Refusal } from "./refusal.ts";

/** Ten times ten times ten of one text. */
const explosion = `a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
`;

const yaml: readonly Refusal[] = [
  {
    what: "a key that stands twice",
    yaml: after(inSandbox, "    operations: [other] # here"),
    path: "",
    message: /not valid YAML: Map keys must be unique$/,
    fix: /YAML/,
  },
  {
    what: "a key that stands twice in braces",
    yaml: instead(key, "          - { identifier: K2000000001, secret: { file: DIR/k1, file: DIR/canary } } # here"),
    path: "",
    message: /not valid YAML: Map keys must be unique$/,
    fix: /YAML/,
  },
  {
    what: "a second document",
    yaml: atTheEnd("--- # here\nlog: { level: debug }"),
    path: "",
    message: /^a second YAML document begins here/,
    fix: /YAML/,
  },
  {
    what: "a tab as indentation",
    yaml: atTheEnd("log:\n\t- canary # here"),
    path: "",
    message: /not valid YAML: Tabs/,
    fix: /YAML/,
  },
  {
    what: "an alias that leads nowhere",
    yaml: instead(key, "          - { identifier: K2000000001, secret: *canary } # here"),
    path: "",
    message: /leads nowhere/,
    fix: /YAML/,
  },
  {
    what: "an alias that leads into itself",
    yaml: after(inSandbox, "    tls: &canary { caFile: *canary } # here"),
    path: "",
    message: /into itself/,
    fix: /YAML/,
  },
  {
    what: "aliases that would make the file explode",
    yaml: edited(["listeners:\n", "listeners: # here\n"]).concat(explosion),
    path: "",
    message: /too many aliases/,
    fix: /YAML/,
  },
  {
    what: "a secret that looks like a tag",
    yaml: instead(key, "          - { identifier: K2000000001, secret: !canary x } # here"),
    path: "",
    message: /Unresolved tag$/,
    fix: /YAML/,
  },
  {
    what: "a file that says it is YAML 1.1",
    yaml: `%YAML 1.1 # here\n---\n${sound}`,
    path: "",
    message: /only YAML 1.2/,
    fix: /YAML/,
  },
  {
    what: "a merge of YAML 1.1 that merges nothing",
    yaml: `%YAML 1.1 # here\n---\n${sound}canary: { <<: 5 }\n`,
    path: "",
    message: /only YAML 1.2/,
    fix: /YAML/,
  },
  {
    what: "a site called __proto__",
    yaml: after("    sites:\n", "      __proto__: {} # here"),
    path: "",
    message: /__proto__/,
    fix: /YAML/,
  },
];

itRefuses("surprising YAML", yaml);
