import type { Case } from "../case.ts";
import { chunkedBodies } from "./chunks.ts";
import { expectations } from "./expectations.ts";
import { lengths } from "./lengths.ts";
import { lines } from "./lines.ts";
import { pipelines } from "./pipelines.ts";
import { transferCodings } from "./transfer-codings.ts";
import { upgradedLines } from "./upgraded-lines.ts";
import { upgrades } from "./upgrades.ts";
import { versions } from "./versions.ts";

/** The framing corpus, by class. */
export const framingCases: readonly (readonly [name: string, cases: readonly Case[]])[] = [
  ["Content-Length in disguise", lengths],
  ["Transfer-Encoding in disguise", transferCodings],
  ["chunks that are not what they say", chunkedBodies],
  ["lines that end where they should not", lines],
  ["other versions and protocols", versions],
  ["ways out of HTTP/1.1", upgrades],
  ["requests behind an upgrade", upgradedLines],
  ["expectations", expectations],
  ["requests within requests", pipelines],
];
