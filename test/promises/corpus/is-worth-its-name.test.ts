/** The corpora of bytes are as large as they claim to be, and no case is there twice. */
import { expect, it } from "vitest";
import { rawPost } from "../../../testkit/raw-caller.ts";
import { bytesOf, type Case } from "./case.ts";
import { framingCases, readerCases } from "./framing/all.ts";
import { headValueCases } from "./head-values.ts";
import { headerCases } from "./headers.ts";
import { targetsAt } from "./targets.ts";

const ofHeaders = [...headerCases, ...headValueCases].map(
  ([name, given, status]): Case => [name, rawPost(given), [status]],
);

it.each([
  [
    "framing",
    300,
    [...framingCases, ...readerCases].flatMap(([title, cases]) =>
      cases.map(([name, ...rest]): Case => [`${title}: ${name}`, ...rest]),
    ),
  ],
  ["targets", 120, targetsAt("127.0.0.1:80")],
  ["headers", 100, ofHeaders],
] as const)("the corpus of %s has at least %i cases, each of its own name and bytes", (_, atLeast, cases) => {
  expect(cases.length).toBeGreaterThanOrEqual(atLeast);
  expect(repeated(cases.map(([name]) => name))).toEqual([]);
  expect(repeated(cases.map(bytesOf))).toEqual([]);
});

function repeated(texts: readonly string[]): string[] {
  return texts.filter((text, index) => texts.indexOf(text) !== index);
}
