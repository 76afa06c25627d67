/** Whatever a service does, no order gets another order's answer or a part as if it were whole, and no order is sent twice. */
import type { Socket } from "node:net";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Event } from "../../src/model/events.ts";
import { type Ordered, orderToTheEnd } from "../../testkit/raw-caller.ts";
import { type RawRequest, startRawUpstream } from "../../testkit/raw-upstream.ts";
import { drawSeed } from "../../testkit/seeded-random.ts";
import { hmacSite, stage } from "../../testkit/stage.ts";

const whole = fc.record<Plan>({
  interim: fc.array(fc.constantFrom("100 Continue", "102 Processing", "103 Early Hints"), { maxLength: 2 }),
  status: fc.constantFrom(200, 200, 200, 201, 204, 302, 304, 400, 401, 404, 413, 429),
  framing: fc.constantFrom("length", "chunks"),
  padding: fc.oneof({ weight: 5, arbitrary: fc.nat(300) }, { weight: 1, arbitrary: fc.nat(200_000) }),
  cuts: fc.array(fc.nat(99), { maxLength: 4 }),
  turns: fc.nat(3),
  behind: fc.constant("nothing"),
  percent: fc.constant(100),
  after: fc.constant("stay"),
});
const like = (change: { readonly [Key in keyof Plan]?: fc.Arbitrary<Plan[Key]> }) =>
  fc.tuple(whole, fc.record(change)).map(([plan, changed]): Plan => ({ ...plan, ...changed }));
const end = fc.constantFrom("close", "reset");

const plan: fc.Arbitrary<Plan> = fc.oneof(
  { weight: 6, arbitrary: whole },
  { weight: 2, arbitrary: like({ framing: fc.constant("close"), after: end }) },
  { weight: 1, arbitrary: like({ after: end }) },
  { weight: 4, arbitrary: like({ after: fc.constant("the answer again") }) },
  { weight: 2, arbitrary: like({ behind: fc.constantFrom("a line end", "a byte", "the answer again") }) },
  { weight: 3, arbitrary: like({ percent: fc.nat(99), after: end }) },
  // Without TLS an orderly end would make any part of such a body whole, so only a reset cuts it.
  { weight: 1, arbitrary: like({ framing: fc.constant("close"), percent: fc.nat(99), after: fc.constant("reset") }) },
  { weight: 1, arbitrary: like({ percent: fc.nat(50), after: fc.constant("silence") }) },
);

const hasBody = ({ status }: Plan) => status !== 204 && status !== 304;
const bodyOf = (mark: string, plan: Plan) =>
  hasBody(plan) ? `{"mark":"${mark}","x":"${"x".repeat(plan.padding)}"}` : "";

it("each order ends as its own plan allows", async () => {
  const seed = drawSeed("services by chance");
  const plans = new Map<string, Plan>();
  const service = await startService((mark) => plans.get(mark) as Plan);
  const { port, recorder } = await stage({ baseUrl: service.url });
  const count = { answered: 0, unknown: 0, onOdd: 0 };
  let run = 0;

  const orders = fc.record({
    plans: fc.array(plan, { minLength: 1, maxLength: 12 }),
    callers: fc.integer({ min: 1, max: 3 }),
  });
  const property = fc.asyncProperty(orders, async ({ plans: drawn, callers }) => {
    run += 1;
    const left = drawn.entries();
    const caller = async () => {
      for (const [index, drawnPlan] of left) {
        const mark = `${run}-${index}`;
        plans.set(mark, drawnPlan);
        const hurry = drawnPlan.after === "silence" ? ["Countersign-Timeout-Ms: 100"] : [];
        const more = [`Countersign-Site: ${hmacSite}`, `Countersign-Reference: ${mark}`, ...hurry];
        const ordered = await orderToTheEnd({ port, host: "127.0.0.1" }, { more, body: JSON.stringify({ mark }) });
        await recorder.nth("request_finished", 1, ({ reference }) => reference === mark);
        const finished = recorder.of("request_finished").filter(({ reference }) => reference === mark);
        const read = service.read.get(mark);
        judge(mark, drawnPlan, ordered, finished, read);
        if (finished[0]?.outcome === "answered") count.answered += 1;
        else count.unknown += 1;
        if (read?.onOdd) count.onOdd += 1;
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    service.endAll();
    recorder.events.length = 0;
  });
  await fc.assert(property, { seed, numRuns: 120, endOnFailure: true });
  expect(count.answered).toBeGreaterThan(200);
  expect(count.unknown).toBeGreaterThan(50);
  expect(count.onOdd).toBeGreaterThan(0);
});

/** The service's behaviour for one order. */
interface Plan {
  readonly interim: readonly string[];
  readonly status: number;
  readonly framing: "length" | "chunks" | "close";
  /** Bytes of the body in addition to its mark. */
  readonly padding: number;
  /** Places at which the bytes are cut into separate writes, in percent. */
  readonly cuts: readonly number[];
  /** Turns of the event loop between two writes. */
  readonly turns: number;
  /** Bytes in the same write after the answer. */
  readonly behind: "nothing" | "a line end" | "a byte" | "the answer again";
  /** How much of the answer is sent. */
  readonly percent: number;
  readonly after: "stay" | "close" | "reset" | "the answer again" | "silence";
}

/** The expected outcome of an order on a connection without a former fault. */
function knownOutcome(plan: Plan): "answered" | "unknown" | "either" {
  if (plan.percent < 100) return "unknown";
  if (plan.after !== "reset") return "answered";
  // Such a body is whole only after an orderly end. Any other body is whole unless the reset overtakes it.
  return plan.framing === "close" && hasBody(plan) ? "unknown" : "either";
}

function answerBytes(mark: string, id: string, plan: Plan): string {
  const interim = plan.interim.map((status) => `HTTP/1.1 ${status}\r\nx-early: ${mark}\r\n\r\n`).join("");
  const head = `HTTP/1.1 ${plan.status} Any\r\nx-mark: ${mark}\r\nx-request-id: ${id}\r\n`;
  const body = bodyOf(mark, plan);
  if (!hasBody(plan)) return `${interim}${head}\r\n`;
  if (plan.framing === "close") return `${interim}${head}\r\n${body}`;
  if (plan.framing === "length") return `${interim}${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  const half = Math.floor(body.length / 2);
  const chunks = [body.slice(0, half), body.slice(half)].map(
    (text) => `${text.length.toString(16)};a=b\r\n${text}\r\n`,
  );
  return `${interim}${head}Transfer-Encoding: chunked\r\n\r\n${chunks.join("")}0\r\nx-sum: ${mark}\r\n\r\n`;
}

async function turns(count: number) {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

async function playOn(socket: Socket, bytes: string, plan: Plan): Promise<void> {
  const behind = { nothing: "", "a line end": "\r\n", "a byte": "!", "the answer again": bytes }[plan.behind];
  const sent = plan.percent === 100 ? bytes + behind : bytes.slice(0, Math.floor((bytes.length * plan.percent) / 100));
  const ends = [
    ...plan.cuts.map((percent) => Math.floor((sent.length * percent) / 100)).sort((a, b) => a - b),
    sent.length,
  ];
  let start = 0;
  for (const until of ends) {
    if (until > start) socket.write(sent.slice(start, until), "latin1");
    start = until;
    await turns(plan.turns);
  }
  if (plan.after === "close") socket.end();
  if (plan.after === "reset") socket.resetAndDestroy();
  if (plan.after !== "the answer again") return;
  await turns(2 * plan.turns);
  socket.write(bytes, "latin1");
}

/** The service, with the plans of the orders under way. */
async function startService(planOf: (mark: string) => Plan) {
  /** Connections on which a fault has happened. */
  const odd = new WeakSet<Socket>();
  const read = new Map<string, Reading>();
  /** A service may send too much, but not one answer within another. */
  const playing = new WeakMap<Socket, Promise<void>>();
  const sockets = new Set<Socket>();
  const upstream = await startRawUpstream({
    accept(socket) {
      sockets.add(socket.setNoDelay(true));
      socket.on("close", () => sockets.delete(socket));
    },
    answer({ head, body }: RawRequest, socket) {
      const mark = String(JSON.parse(body).mark);
      const [, id = ""] = /^x-request-id: (.*)$/im.exec(head) ?? [];
      const plan = planOf(mark);
      read.set(mark, { count: (read.get(mark)?.count ?? 0) + 1, onOdd: odd.has(socket) });
      if (plan.behind !== "nothing" || plan.percent < 100 || plan.after !== "stay") odd.add(socket);
      const before = playing.get(socket) ?? Promise.resolve();
      playing.set(
        socket,
        before.then(() => playOn(socket, answerBytes(mark, id, plan), plan)),
      );
    },
  });
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { url: upstream.url, read, endAll };
}

type Finished = Extract<Event, { kind: "request_finished" }>;

interface Reading {
  readonly count: number;
  readonly onOdd: boolean;
}

/** @param finished the log's access lines with this mark */
function judge(
  mark: string,
  plan: Plan,
  ordered: Ordered,
  finished: readonly Finished[],
  read: Reading | undefined,
): void {
  const { answer, end } = ordered;
  const [{ outcome, by } = {}] = finished as readonly Partial<Finished>[];
  const isPassedOn = by === "service";
  const body = bodyOf(mark, plan);
  // A body that only the close ends is whole for its caller if the end is no reset.
  const isWhole = answer.isComplete || (isPassedOn && plan.framing === "close" && end === "fin");
  const found = {
    lines: finished.length,
    reads: read?.count ?? 0,
    outcome,
    isWhole,
    ...(isPassedOn ? { mark: answer.value("x-mark"), status: answer.status, isOwn: body.startsWith(answer.body) } : {}),
    ...(isPassedOn && isWhole ? { hasAll: answer.body === body } : {}),
  };
  const isKnown = read !== undefined && !read.onOdd && knownOutcome(plan) !== "either";
  const wanted = {
    lines: 1,
    reads: outcome === "not_sent" || read === undefined ? 0 : 1,
    outcome: isKnown ? knownOutcome(plan) : expect.stringMatching(/^(?:answered|unknown|not_sent)$/),
    isWhole: !isPassedOn || outcome === "answered",
    ...(isPassedOn ? { mark, status: plan.status, isOwn: true } : {}),
    ...(isPassedOn && isWhole ? { hasAll: true } : {}),
  };
  expect({ plan, read, end, ...found }).toEqual({ plan, read, end, ...wanted });
}
