import { readFileSync, writeFileSync } from "node:fs";
import { mixinRulesOf } from "./rules.ts";

// `npm run mixin`: writes the alerts for deploy/mixin anew from deploy/prometheus/rules.yaml.

writeFileSync("deploy/mixin/rules.json", mixinRulesOf(readFileSync("deploy/prometheus/rules.yaml", "utf8")));
