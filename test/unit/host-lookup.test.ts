/** When a name is looked up, and how long the last good answer replaces one that does not come. */
import { expect, it } from "vitest";
import { type AskSystem, HostLookup, type OnAnswer } from "../../src/adapters/http-client/host-lookup.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const old = [{ address: "192.0.2.1", family: 4 }];
const moved = [{ address: "192.0.2.2", family: 4 }];
const failure = (code: string) => Object.assign(new Error(code), { code });

it("asks once for all connections that wait for a name at one time, and again for the next connection", () => {
  const { find, found, asked, answer } = stage();
  find();
  find();
  expect(asked()).toBe(1);
  answer();
  expect(found()).toEqual(["192.0.2.1", "192.0.2.1"]);
  find();
  answer(moved);
  expect(found()).toEqual(["192.0.2.2"]);
});

it("keeps names apart, and the options of their look-ups", () => {
  const { find, asked } = stage();
  find("api.example");
  find("login.example");
  find("api.example", { family: 6 });
  expect(asked()).toBe(3);
});

it("says DNS_TIMEOUT if a name was never found, and lets no connection wait for ever", async () => {
  const { clock, find, found, fail } = stage();
  find();
  await clock.advance(9_999);
  expect(found()).toEqual([]);
  await clock.advance(1);
  expect(found()).toEqual(["DNS_TIMEOUT"]);
  expect(clock.pending).toBe(0);
  fail("EAI_AGAIN");
  expect(found()).toEqual([]);
});

it("uses the last good answer while the new one is late, at once if it is late already", async () => {
  const { clock, uses, find, found, findOld, asked, answer } = stage();
  await findOld();
  find();
  await clock.advance(249);
  expect(found()).toEqual([]);
  await clock.advance(1);
  expect(found()).toEqual(["192.0.2.1"]);
  find();
  await clock.advance(0);
  expect(found()).toEqual(["192.0.2.1"]);
  expect(asked()).toBe(1);
  expect(uses).toEqual([
    { cause: "DNS_TIMEOUT", ageMs: 250, isFirst: true },
    { cause: "DNS_TIMEOUT", ageMs: 250, isFirst: false },
  ]);
  answer(moved);
  find();
  answer(moved);
  expect(found()).toEqual(["192.0.2.2"]);
});

it("uses the last good answer for a day if no name server answers", async () => {
  const { clock, uses, find, found, findOld, fail } = stage();
  await findOld();
  await clock.advance(86_399_999);
  find();
  fail("EAI_AGAIN");
  expect(found()).toEqual(["192.0.2.1"]);
  expect(uses).toEqual([{ cause: "EAI_AGAIN", ageMs: 86_399_999, isFirst: true }]);
  await clock.advance(1);
  find();
  fail("EAI_AGAIN");
  expect(found()).toEqual(["EAI_AGAIN"]);
});

it("believes an answer that there is no such name, and forgets the name's addresses", async () => {
  const { find, found, findOld, fail } = stage();
  await findOld();
  find();
  fail("ENOTFOUND");
  find();
  fail("EAI_AGAIN");
  expect(found()).toEqual(["ENOTFOUND", "EAI_AGAIN"]);
});

/** Look-ups whose queries the test answers. */
function stage() {
  const clock = new FakeClock();
  const questions: OnAnswer[] = [];
  const uses: unknown[] = [];
  const ask: AskSystem = (_, __, onAnswer) => void questions.push(onAnswer);
  const lookups = new HostLookup(ask, clock, ({ cause, ageMs, isFirst }) => uses.push({ cause, ageMs, isFirst }));
  const found: unknown[] = [];
  const find = (host = "api.example", options = {}) =>
    lookups.find(host, { ...options, all: true }, (error, addresses) =>
      found.push(error === null ? addresses?.[0]?.address : (error as NodeJS.ErrnoException).code),
    );
  return {
    clock,
    uses,
    find,
    /** The results since the last call of this function. */
    found: () => found.splice(0),
    asked: () => questions.length,
    answer: (addresses = old) => questions.shift()?.(null, addresses),
    fail: (code: string) => questions.shift()?.(failure(code)),
    async findOld() {
      find();
      questions.shift()?.(null, old);
      found.length = 0;
    },
  };
}
