import { writeFileSync } from "node:fs";
import { print } from "../../src/cli/terminal.ts";
import { dashboards, textOf } from "./dashboards.ts";

// `npm run dashboards`: writes the dashboards that Grafana loads.

for (const [file, dashboard] of Object.entries(dashboards)) writeFileSync(file, textOf(dashboard));
print(Object.keys(dashboards).join("\n"));
