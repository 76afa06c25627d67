/** Proves rows 1, 4, 10 and 11 on a corpus: whatever a caller does to its framing, the service gets what we framed, or nothing. */
import { expect, it } from "vitest";
import { framingCases, readerCases } from "./framing/all.ts";
import { playAll } from "./play.ts";

it.each(framingCases)(
  "the service sees one request, framed by us, for each answer of its own, after %s",
  async (_, cases) => void (await playAll(() => cases)),
);

it.each(readerCases)("nothing is served of what the reader refuses, nor behind it: %s", async (_, cases) => {
  const codes = cases.map(([, , [status]]) => (status === 431 ? "headers_too_large" : "malformed_request"));
  expect(await playAll(() => cases)).toEqual(codes);
});
