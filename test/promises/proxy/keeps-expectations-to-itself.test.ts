/** Proves row 11: Expect is answered here and never forwarded; one that nobody can meet is 417 (framing corpus). */
import { describe, expect, it } from "vitest";
import { orderText, RawConnection, type RawPost, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { stageConnected, stageProxy } from "../../../testkit/stage.ts";

const invited = "HTTP/1.1 100 Continue\r\n\r\n";

it.each(["100-continue", "100-CONTINUE"])(
  "invites the body, serves the order and forwards no Expect: %s",
  async (value) => {
    const { connection, simulator } = await stageConnected();
    const length = [`Content-Length: ${orderText.length}`];
    connection.write(rawPost({ more: [`Expect: ${value}`], framing: length, body: "" }));
    expect(await connection.until(/\r\n\r\n/)).toBe(invited);
    expect(simulator.counts().apiRequests).toBe(0);
    const answers = readAnswers(await connection.write(orderText).ended());
    expect(answers.map(({ status }) => status)).toEqual([100, 200]);
    const [request] = await simulator.seen.whenApiRequests(1);
    expect(request?.rawHeaders.map((text) => text.toLowerCase())).not.toContain("expect");
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
  },
);

describe("an invitation behind an answer that is not there yet", () => {
  const open = { connection: [] };
  const expecting = { more: ["Expect: 100-continue"] };

  it("is not written into that answer, nor is anything served behind a request that never got it", async () => {
    const { port, simulator } = await stageProxy();
    const { whenPlayed, release } = simulator.faults.add({ host: "api", kind: "hang" });
    const refused = rawPost({ ...open, more: [...expecting.more, "Countersign-Site: S9"] });
    const connection = await RawConnection.open(port);
    connection.write(`${rawPost(open)}${refused}${rawPost(expecting)}`);
    await whenPlayed(1);
    release();
    const answers = readAnswers(await connection.ended());
    expect(answers.map(({ status, headers }) => [status, headers["connection"]])).toEqual([
      [200, "keep-alive"],
      [403, "close"],
    ]);
    expect(simulator.counts().apiRequests).toBe(1);
  });

  it("comes in its turn", async () => {
    const { port, simulator } = await stageProxy();
    const { whenPlayed, release } = simulator.faults.add({ host: "api", kind: "hang" });
    const length = [`Content-Length: ${orderText.length}`];
    const connection = await RawConnection.open(port);
    connection.write(`${rawPost(open)}${rawPost({ ...expecting, framing: length, body: "" })}`);
    await whenPlayed(1);
    release();
    await connection.until(/100 Continue\r\n\r\n$/);
    const answers = readAnswers(await connection.write(orderText).ended());
    expect(answers.map(({ status }) => status)).toEqual([200, 100, 200]);
  });
});

describe("who is refused before the body is looked at is not invited to send it", () => {
  const refused: readonly (readonly [number, RawPost])[] = [
    [400, { target: "//evil" }],
    [400, { target: "/create_order?x=1" }],
    [400, { more: ["Countersign-Timeout-Ms: soon"] }],
    [403, { target: "/delete_all" }],
    [403, { host: ["Host: evil.example"] }],
    [405, { method: "PUT" }],
    [413, { framing: ["Content-Length: 262145"] }],
    [415, { type: ["Content-Type: text/plain"] }],
    [431, { more: Array.from({ length: 100 }, (_, n) => `X-${n}: 1`) }],
  ];

  it.each(refused)("%i for %j", async (status, given) => {
    const { connection, clock, simulator } = await stageConnected();
    const framing = given.framing ?? ["Content-Length: 10"];
    connection.write(rawPost({ ...given, framing, more: [...(given.more ?? []), "Expect: 100-continue"], body: "" }));
    await connection.until(/\r\n\r\n\{.*\}\n$/s);
    // No need to wait while the proxy waits for a body that will not come.
    clock.push(1_000);
    const text = await connection.ended();
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(readAnswers(text).map((answer) => answer.headers["connection"])).toEqual(["close"]);
    expect(simulator.counts().apiRequests).toBe(0);
  });
});
