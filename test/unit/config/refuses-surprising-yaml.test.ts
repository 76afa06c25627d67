import { sound } from "../../../testkit/config-folder.ts";
import { at, atTheEnd, fault, inSandbox, itRefuses, withSecret, withSite } from "./refusal.ts";

/** Ten times ten times ten of one text. */
const explosion = `a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
`;

const twice = "is given twice; it is at line … , column … too; keep one of the two";

itRefuses("surprising YAML", [
  fault(inSandbox("operations: [other]"), `: the key … ${twice}`),
  fault(withSecret("{ file: DIR/k1, file: DIR/canary }"), `: the key … ${twice}`),
  fault(`${sound}--- # here\nlog: { level: debug }\n`, ": a second YAML document begins here … YAML"),
  fault(atTheEnd("log:\n\t- canary"), ": not valid YAML: Tabs … YAML"),
  fault(withSecret("*canary"), ": leads nowhere … YAML"),
  fault(inSandbox("tls: &canary { caFile: *canary }"), ": into itself … YAML"),
  fault(at("listeners:\n", `${sound}${explosion}`), ": too many aliases … YAML"),
  fault(withSecret("!canary x"), ": Unresolved tag … YAML"),
  fault(`%YAML 1.1 # here\n---\n${sound}`, ": only YAML 1.2 … YAML"),
  fault(`%YAML 1.1 # here\n---\n${sound}canary: { <<: 5 }\n`, ": only YAML 1.2 … YAML"),
  fault(withSite("__proto__: {}"), ": __proto__ … YAML"),
]);
