import { malformedTexts } from "../../../unit/corpus/malformed-json.ts";
import { loneSurrogates, otherTopLevels, refusedBytes } from "../../../unit/corpus/refused-json.ts";
import { forbiddenCharacters } from "./characters.ts";
import { type Document, malformed } from "./document.ts";
import { rightEncodings, wrongEncodings } from "./encodings.ts";
import { names } from "./names.ts";
import { numbers } from "./numbers.ts";
import { reserved } from "./reserved.ts";
import { sizes } from "./sizes.ts";
import { values } from "./values.ts";

/** The documents on which the reader alone is tested are held to the same over the wire. */
const ofTheReader: readonly Document[] = [
  ...malformedTexts.map((text) => malformed(JSON.stringify(text), text)),
  ...refusedBytes.map(([fault, body]) => malformed(fault, body)),
  ...loneSurrogates.map(([fault, text]) => malformed(`half of a pair: ${fault}`, text)),
  ...otherTopLevels.map(([text]) => malformed(`no object: ${text}`, text)),
];

/** By what a site says of characters. */
export const documents = {
  off: [...ofTheReader, ...wrongEncodings, ...rightEncodings, ...numbers, ...names, ...values, ...reserved, ...sizes],
  reject: forbiddenCharacters,
} as const satisfies Record<string, readonly Document[]>;
