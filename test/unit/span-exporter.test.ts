/** If a collector is away, slow or refuses, only spans are lost. */
import { expect, it } from "vitest";
import type { TraceEvent } from "../../src/model/events.ts";
import { type PostResult, type Span, SpanExporter } from "../../src/tracing/span-exporter.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const span: Span = {
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  spanId: "00f067aa0ba902b7",
  parentSpanId: undefined,
  name: "POST",
  kind: "server",
  startMs: 1_700_000_000_000,
  endMs: 1_700_000_000_001,
  attributes: {},
  isError: false,
};
const taken: PostResult = { kind: "answered", status: 200, retryAfter: undefined, date: undefined, body: "{}" };
const away: PostResult = { kind: "failed", cause: "ECONNREFUSED" };

it("sends the spans of a second together, and a full batch sooner", async () => {
  const { clock, posted, add, sum } = open(() => taken);
  add(3);
  await clock.advance(999);
  expect(posted).toEqual([]);
  await clock.advance(1);
  expect(posted).toEqual([3]);
  add(512);
  await clock.advance(0);
  expect(posted).toEqual([3, 512]);
  expect(sum("exported")).toBe(515);
});

it("keeps up to 2048 spans while the collector is away, and counts those that it drops", async () => {
  let answer: PostResult = away;
  const { clock, posted, add, sum, events } = open(() => answer);
  add(3_000);
  await clock.advance(60_000);
  // One try now, then one after 1, 2, 4, 8, 16 and 30 s.
  expect(posted).toHaveLength(6);
  expect(sum("dropped")).toBe(3_000 - 2_048);
  expect(events.find(({ kind }) => kind === "spans_delayed")).toEqual({
    kind: "spans_delayed",
    waiting: 2_048,
    cause: "ECONNREFUSED",
    pauseMs: 1_000,
    isFirst: true,
  });
  answer = taken;
  await clock.advance(60_000);
  expect(sum("exported")).toBe(2_048);
  expect(posted.slice(-4)).toEqual([512, 512, 512, 512]);
});

it.each([
  [429, "7", undefined, 7],
  [502, "Sat, 21 Nov 2026 12:02:00 GMT", "Sat, 21 Nov 2026 12:00:00 GMT", 120],
  // Without the collector's Date, by this machine's clock: a second has passed since 12:00.
  [503, "Sat, 21 Nov 2026 12:02:01 GMT", undefined, 120],
  [504, "9999999", undefined, 86_400],
])(
  "sends the same spans again after %i, no sooner than Retry-After %s says",
  async (status, retryAfter, date, seconds) => {
    const answers: PostResult[] = [{ ...taken, status, retryAfter, date }];
    const { clock, posted, add, sum } = open(() => answers.shift() ?? taken);
    add(2);
    await clock.advance(1_000);
    await clock.advance(seconds * 1_000 - 1);
    expect(posted).toEqual([2]);
    await clock.advance(1);
    expect(posted).toEqual([2, 2]);
    expect(sum("exported")).toBe(2);
  },
);

it("drops spans that the collector refuses, by its status or in part", async () => {
  const partial = '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}';
  const answers: PostResult[] = [
    { ...taken, status: 400 },
    { ...taken, body: partial },
  ];
  const { clock, posted, add, sum, events } = open(() => answers.shift() ?? taken);
  add(5);
  await clock.advance(1_000);
  expect(sum("rejected")).toBe(5);
  add(5);
  await clock.advance(1_000);
  expect(posted).toEqual([5, 5]);
  expect([sum("rejected"), sum("exported")]).toEqual([7, 3]);
  expect(events.filter(({ kind }) => kind === "spans_lost")).toMatchObject([
    { cause: "HTTP 400", isFirst: true },
    { cause: "partial success", isFirst: false },
  ]);
});

it("sends all remaining spans when it is closed, one batch after the other", async () => {
  const { posted, add, exporter, sum } = open(() => taken);
  add(1_300);
  await exporter.close(2_000);
  expect(posted).toEqual([512, 512, 276]);
  expect(sum("exported")).toBe(1_300);
});

it("does not wait for a collector that is away when it is closed", async () => {
  const { posted, add, exporter, sum } = open(() => away);
  add(1_200);
  await exporter.close(2_000);
  // The batch under way, and one more try.
  expect(posted.length).toBeLessThanOrEqual(2);
  expect(sum("dropped")).toBe(1_200);
});

it("counts spans that come after it was closed, such as that of a stream that outlived its configuration", async () => {
  const { add, exporter, sum } = open(() => taken);
  await exporter.close(2_000);
  add(3);
  expect(sum("dropped")).toBe(3);
});

function open(answer: () => PostResult | Promise<PostResult>) {
  const clock = new FakeClock();
  const posted: number[] = [];
  const events: TraceEvent[] = [];
  const exporter = new SpanExporter({
    post: async (body) => {
      posted.push(body.split('"traceId"').length - 1);
      return answer();
    },
    origin: { resource: {}, version: "0" },
    clock,
    random: () => 1,
    report: (event) => void events.push(event as TraceEvent),
  });
  const add = (count: number) => {
    for (let n = 0; n < count; n++) exporter.add(span);
  };
  const sum = (result: string) =>
    events.reduce((all, event) => {
      if (event.kind === "spans_exported") return result === "exported" ? all + event.count : all;
      return event.kind === "spans_lost" && event.result === result ? all + event.count : all;
    }, 0);
  return { clock, posted, events, exporter, add, sum };
}
