/** Proves rows 1, 4 and 11 on a corpus: whatever a caller does to its framing, the service gets what we framed, or nothing. */
import { describe, expect, it } from "vitest";
import { framingCases } from "./framing/all.ts";
import { describeRequest, openTheatre, play } from "./play.ts";

describe("the service sees one request, framed by us, for each answer of its own, after", () => {
  it.each(framingCases)("%s", async (_, cases) => {
    const theatre = await openTheatre();
    const { simulator } = theatre.stage;
    let served = 0;
    for (const played of cases) {
      const [name, , statuses] = played;
      const { answers, upstream, next } = await play(theatre, played);
      const expected = statuses
        .filter((status) => status === 200)
        .map(() => "POST /json-api/create_order framed by us");
      expect
        .soft({ statuses: answers.map(({ status }) => status), upstream: upstream.map(describeRequest), next }, name)
        .toEqual({ statuses, upstream: expected, next: 200 });
      served += expected.length + 1;
    }
    expect(simulator.counts()).toMatchObject({ apiRequests: served, accepted: served, malformed: 0, incomplete: 0 });
  });
});
