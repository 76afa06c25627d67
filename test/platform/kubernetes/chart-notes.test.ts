import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { openCharts, values } from "./charts.ts";
import { withTools } from "./tools.ts";

// What a person reads after `helm install`. Helm shows notes only of a cluster, so a template shows them here.

const test = withTools("helm");

const charts = openCharts();

function notesOf(args: readonly string[]): string {
  const chart = charts.path("countersign");
  copyFileSync(join(chart, "templates/NOTES.txt"), join(chart, "notes"));
  writeFileSync(join(chart, "templates/shown.yaml"), 'kind: Notes\ntext: {{ tpl (.Files.Get "notes") . | toJson }}\n');
  return charts.objects("countersign", [...args, "--show-only", "templates/shown.yaml"])[0].text;
}

test("names the gateway's addresses, and how to examine it", () => {
  const notes = notesOf(values.gateway);
  expect(notes).toContain("  https://demo-countersign.shop:7411   (production)\n");
  expect(notes).toContain("  http://demo-countersign.shop:7421   (sandbox)\n");
  expect(notes).toContain("  kubectl --namespace shop exec deploy/demo-countersign -- countersign doctor\n");
  expect(notes).not.toContain("tokens of its own");
});

test("says what each gateway pod does with tokens in memory", () => {
  const notes = notesOf(values.plain);
  expect(notes).toContain("Each pod fetches tokens of its own");
});

test("names the sidecar's address, and how to examine it", () => {
  const notes = notesOf(values.sidecar);
  expect(notes).toContain("http://127.0.0.1:7411");
  expect(notes).toContain("  kubectl --namespace shop exec POD -c countersign -- countersign doctor\n");
});
