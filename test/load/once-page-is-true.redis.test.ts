/** docs/once.md, typed from its first command to its last: one order is created, and its repetition is told of the first one. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isInstalled } from "../../testkit/run-program.ts";
import { follow } from "../../testkit/try-it.ts";

const page = "docs/once.md";
const [, answer = ""] = /```json\n(.*?)```/s.exec(readFileSync(page, "utf8")) ?? [];

it.runIf(isInstalled("curl", "--version"))("creates an order, and only one", async () => {
  expect(JSON.parse(answer)).toMatchObject({
    status: 409,
    code: "already_sent",
    first: { outcome: "answered", status: 200 },
  });
  await follow({
    page,
    heading: "Try it",
    prints: [/\{"status":"ok","order":[\s\S]*"code":"already_sent"[\s\S]*"first":\{"request_id"/],
  });
});
