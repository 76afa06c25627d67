/** Each page's "Try it", typed from its first command to its last: it prints the page's outputs, causes no warning, and ends its jobs. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isInstalled, nameFor } from "../../testkit/run-program.ts";
import { expectChain, follow, type TryIt } from "../../testkit/try-it.ts";

const created = /\{"status":"ok","order":\{"order_id":"order_\d/;

/** What each page's section Try it prints. */
const printed: Readonly<Record<string, TryIt["prints"]>> = {
  "docs/callbacks.md": [
    /^OK\n200$/m,
    /"code":"callback_not_genuine".*\n?401$/m,
    /^order_paid for S1000000003, verified by K2000000001\n[\s\S]*^order_closed for S1000000003, verified by K2000000001$/m,
    /"status":200[\s\S]*"status":401/,
  ],
  "docs/callers.md": [
    /"order_id".* 200$[\s\S]*"caller_not_allowed".*\n? 403$[\s\S]*"order_id".* 200$[\s\S]*"caller_not_known".*\n? 403$/m,
  ],
  "docs/egress.md": [
    created,
    /^CONNECT login\.sandbox\.test:7422 200$/m,
    /^CONNECT api\.sandbox\.test:7421 200$/m,
    /^ok +egress +sandbox +127\.0\.0\.1:3128: takes connections[\s\S]*^ok +token /m,
    /^fail .*PROXY_STATUS_407.*\n +fix: /m,
  ],
  "docs/moving-from-hmac.md": [/^200$[\s\S]*^200$/m, ...shownIn("docs/moving-from-hmac.md", "caller_signature")],
  "docs/pass-through.md": [
    /^the same$/m,
    /^data: there are 1 files$/m,
    /"code":"method_not_allowed"/,
    /"code":"target_not_allowed"/,
  ],
  "docs/sites.md": [/"order_id".* 200$[\s\S]*"site_not_configured".*\n? 403$[\s\S]*"order_id".* 200$/m],
  "docs/tracing.md": [
    created,
    /^trace 4bf92f3577b34da6a3ce929d0e0e4736 server POST \/create_order \w+ below 00f067aa0ba902b7 /m,
    /^trace 4bf92f3577b34da6a3ce929d0e0e4736 client POST \/json-api\/create_order \w+ below \w+ /m,
  ],
};

it("every page with a section Try it is tested", () => {
  const withOne = readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`)
    .filter((page) => readFileSync(page, "utf8").includes("\n## Try it\n"));
  expect(withOne.sort()).toEqual(["docs/once.md", ...Object.keys(printed)].sort());
});

const bridged = [/"order_id".* 200$/m, ...shownIn("docs/tokens.md", "bridge")];
const parts: readonly TryIt[] = [
  { page: "README.md", heading: "Run it", prints: [created, /^ok {2}127\.0\.0\.1:7411 leads to sandbox/m] },
  { page: "docs/tokens.md", heading: "Outage bridge", prints: bridged },
  ...Object.entries(printed).map(([page, prints]) => ({ page, heading: "Try it", prints })),
];

const canFollow = ["curl", "openssl", "bash"].every((program) =>
  isInstalled(program, program === "openssl" ? "version" : "--version"),
);
it.runIf(canFollow).each(parts)(nameFor(canFollow, "curl, openssl or bash", "$page"), follow);

const chained = Object.keys(printed).concat("docs/once.md", "docs/tokens.md");
it.runIf(canFollow).each(chained)(
  nameFor(canFollow, "openssl or bash", "typed twice, %s changes nothing in the folder above"),
  expectChain,
);

/** The lines about the metric of this name on a page. */
function shownIn(page: string, name: string): readonly string[] {
  return readFileSync(page, "utf8").match(new RegExp(`^countersign_${name}.*$`, "gm")) ?? [];
}
