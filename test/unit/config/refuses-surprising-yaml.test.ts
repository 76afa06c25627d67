import { sound } from "../../../testkit/config-folder.ts";
import { at, atTheEnd, fault, inSandbox, itRefuses, withSecret, withSite } from "./refusal.ts";

/** Ten times ten times ten of one text. */
const explosion = `a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
`;

const twice = [/^the key "?\w+"? is given twice; it is at line \d+, column \d+ too$/, /^keep one of the two$/] as const;

const yaml = [
  fault("a key that stands twice", inSandbox("operations: [other]"), ["", ...twice]),
  fault("a key that stands twice in braces", withSecret("{ file: DIR/k1, file: DIR/canary }"), ["", ...twice]),
  fault("a second document", `${sound}--- # here\nlog: { level: debug }\n`, [
    "",
    /^a second YAML document begins here/,
    /YAML/,
  ]),
  fault("a tab as indentation", atTheEnd("log:\n\t- canary"), ["", /not valid YAML: Tabs/, /YAML/]),
  fault("an alias that leads nowhere", withSecret("*canary"), ["", /leads nowhere/, /YAML/]),
  fault("an alias that leads into itself", inSandbox("tls: &canary { caFile: *canary }"), ["", /into itself/, /YAML/]),
  fault("aliases that would make the file explode", at("listeners:\n", `${sound}${explosion}`), [
    "",
    /too many aliases/,
    /YAML/,
  ]),
  fault("a secret that looks like a tag", withSecret("!canary x"), ["", /Unresolved tag$/, /YAML/]),
  fault("a file that says it is YAML 1.1", `%YAML 1.1 # here\n---\n${sound}`, ["", /only YAML 1.2/, /YAML/]),
  fault("a merge of YAML 1.1 that merges nothing", `%YAML 1.1 # here\n---\n${sound}canary: { <<: 5 }\n`, [
    "",
    /only YAML 1.2/,
    /YAML/,
  ]),
  fault("a site called __proto__", withSite("__proto__: {}"), ["", /__proto__/, /YAML/]),
];

itRefuses("surprising YAML", yaml);
