/** Proves row 2 on a corpus: no request target leads anywhere but to a listed operation of the listener's own environment. */
import { expect, it } from "vitest";
import { describeRequest, openTheatre, play } from "./play.ts";
import { ownAuthority, targets } from "./targets.ts";

it("no target leads anywhere but to a listed operation", async () => {
  const theatre = await openTheatre();
  const { simulator } = theatre.stage;
  const { host } = new URL(simulator.apiUrl);
  let served = 0;
  for (const [name, bytes, statuses] of targets) {
    const steps = String(bytes).replace(ownAuthority, host);
    const { answers, upstream, next } = await play(theatre, [name, steps, statuses]);
    const expected = statuses.filter((status) => status === 200).map(() => "POST /json-api/create_order framed by us");
    expect
      .soft({ statuses: answers.map(({ status }) => status), upstream: upstream.map(describeRequest), next }, name)
      .toEqual({ statuses, upstream: expected, next: 200 });
    served += expected.length + 1;
  }
  expect(simulator.counts()).toMatchObject({ apiRequests: served, accepted: served, malformed: 0, incomplete: 0 });
});
