/** A verifier in another language finds each of 100,000 generated bodies signed as sent, and unchanged. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { inParallel } from "../../../testkit/in-parallel.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { drawSeed, seededRandom } from "../../../testkit/seeded-random.ts";
import { canaries, hmacSite, stage } from "../../../testkit/stage.ts";
import { bodies } from "./verified/bodies.ts";
import { type Captured, isPythonThere, type Rules, startVerifier } from "./verified/verifier.ts";

const total = 100_000;
const batch = 1_000;
const atOnce = 16;
const rules: Rules = {
  keys: { [hmacSite]: canaries.keyOne, K2000000001: canaries.keyOne, K2000000002: canaries.keyTwo },
  version: "3.0",
  path: "/create_order",
};
const identifiers = Object.keys(rules.keys);
const slowlyMs = 600_000;
const test = it.runIf(isPythonThere);
const notTried = isPythonThere ? "" : "NOT TRIED, python3 is not installed: ";

test(
  `${notTried}100,000 bodies arrive unchanged, and with the right signature`,
  async () => {
    const random = seededRandom(drawSeed("signed = sent"));
    const { service, send } = await openRig();
    const verifier = startVerifier(rules);
    for (let sent = 0; sent < total; sent += batch) {
      const seed = Math.floor(random() * 2 ** 31);
      await send(fc.sample(bodies, { seed, numRuns: batch }), verifier.check);
    }
    expect(await verifier.finish()).toEqual({ checked: total, mismatches: 0, examples: [] });
    expect(service.requests).toHaveLength(total);
  },
  slowlyMs,
);

test(`${notTried}a single wrong byte anywhere would have been found`, async () => {
  const { send } = await openRig();
  const text = '{"order_amount":10,"order_type":"any \u00e9","big":9007199254740993,"yes":true}';
  const captured: Captured[] = [];
  await send([text], async (one) => void captured.push(one));
  const [sound = expect.unreachable()] = captured;
  const verifier = startVerifier(rules);
  await verifier.check(sound);
  const places = placesThatCount(sound.wire);
  for (const at of places) await verifier.check({ ...sound, wire: flip(sound.wire, at) });
  // A request with another key, other values, or other framing.
  await verifier.check({ ...sound, identifier: "K2000000002" });
  await verifier.check({ ...sound, given: Buffer.from(text.replace("993", "992")) });
  await verifier.check({ ...sound, wire: Buffer.concat([sound.wire, Buffer.from(" ")]) });
  const { checked, mismatches } = await verifier.finish();
  expect(places.length).toBeGreaterThan(200);
  expect({ checked, mismatches }).toEqual({ checked: places.length + 4, mismatches: places.length + 3 });
});

/** The index of every byte of the body and of the request line. */
function placesThatCount(wire: Uint8Array): number[] {
  const bytes = Buffer.from(wire);
  const [line, body] = [bytes.indexOf("\r\n"), bytes.indexOf("\r\n\r\n") + 4];
  return [...bytes.keys()].filter((at) => at < line || at >= body);
}

function flip(bytes: Uint8Array, at: number): Uint8Array {
  return Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ 1 : byte));
}

async function openRig() {
  const service = await startRawUpstream({
    answer: ({ number }, socket) => socket.write(rawAnswer(200, String(number))),
  });
  // Real clients sign e-mail addresses; allowing any character is the harder case.
  const { url } = await stage({ baseUrl: service.url, site: { characters: "off" } });
  const agent = keepAlive();
  return {
    service,
    /** Sends each body once, and hands the arrived request to the receiver. */
    send: (texts: readonly string[], receive: (captured: Captured) => Promise<void>) =>
      inParallel(atOnce, texts, async (text, index) => {
        const identifier = identifiers[index % identifiers.length] ?? hmacSite;
        const given = Buffer.from(text);
        const headers = { "Countersign-Site": identifier };
        const answer = await call(url, given, { agent, path: rules.path, headers });
        if (answer.status !== 200) throw new Error(`${answer.text}\n${JSON.stringify(text)}`);
        const { head = "", body = "" } = service.requests[Number(answer.text) - 1] ?? {};
        await receive({ identifier, given, wire: Buffer.from(`${head}\r\n\r\n${body}`, "latin1") });
      }),
  };
}
