/** RFC 9110 section 15.2: interim responses that nobody asked for are ignored, however many and in any pieces. */
import { describe, expect, it } from "vitest";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { type RawRequest, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

const signed = { "Countersign-Site": hmacSite };
const plain = "HTTP/1.1 100 Continue\r\n\r\n";
const interim = {
  "100 Continue": plain,
  "100 without a reason": "HTTP/1.1 100\r\n\r\n",
  "100 of HTTP/1.0": "HTTP/1.0 100 Continue\r\n\r\n",
  "100 with headers": "HTTP/1.1 100 Continue\r\nServer: x\r\nCountersign-Outcome: not_sent\r\n\r\n",
  "102 Processing": "HTTP/1.1 102 Processing\r\n\r\n",
  "103 Early Hints": "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\n\r\n",
  "199, which nothing defines": "HTTP/1.1 199 Soon\r\n\r\n",
  "four in a row": `${plain}HTTP/1.1 102 Processing\r\n\r\n${plain}HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n`,
  "a thousand in a row": plain.repeat(1_000),
} as const;

async function orderWith(answer: (request: RawRequest) => string, sliceBytes = Number.POSITIVE_INFINITY) {
  const upstream = await startRawUpstream({
    answer: async (request, socket) => {
      const bytes = answer(request);
      socket.setNoDelay(true);
      for (let at = 0; at < bytes.length; at += sliceBytes) {
        await new Promise((written) => socket.write(bytes.slice(at, at + sliceBytes), "latin1", written));
        await new Promise(setImmediate);
      }
    },
  });
  return { upstream, stage: await stageProxy({ baseUrl: upstream.url }) };
}

describe.each(Object.entries(interim))("%s", (_name, bytes) => {
  it("of the service is ignored, on a connection that goes on serving", async () => {
    const { upstream, stage } = await orderWith(({ number }) => bytes + rawAnswer(201, `{"n":${number}}`));
    for (const n of [1, 2, 3]) {
      const answer = await orderRaw(stage.port, signed);
      expect(answer).toMatchObject({ status: 201, body: `{"n":${n}}`, isComplete: true });
      expect(answer.values("countersign-outcome")).toEqual(["answered"]);
      expect(answer.values("link")).toEqual([]);
    }
    expect(upstream.requests).toHaveLength(3);
    expect(upstream.connections).toBe(1);
  });

  it("of the authorization server is ignored", async () => {
    const token = JSON.stringify({ access_token: "canary-token", token_type: "Bearer", expires_in: 3_600 });
    const login = await startRawUpstream({ answer: `${bytes}${rawAnswer(200, token)}` });
    const upstream = await startRawUpstream({ answer: rawAnswer(200, "{}") });
    const stage = await stageProxy({ baseUrl: upstream.url, authUrl: login.url, oneSet: true });
    expect(await orderRaw(stage.port)).toMatchObject({ status: 200, body: "{}" });
    expect(upstream.requests[0]?.head).toContain("canary-token");
    expect(login.requests).toHaveLength(1);
  });
});

it("wherever the network cuts them into pieces", async () => {
  const bytes = interim["four in a row"] + rawAnswer(200, "{}", "X-A: b\r\n");
  for (const sliceBytes of [1, 2, 3, 5, 7, 25, 27, 64]) {
    const { stage } = await orderWith(() => bytes, sliceBytes);
    expect(await orderRaw(stage.port, signed)).toMatchObject({ status: 200, body: "{}", isComplete: true });
  }
});

it("while the answer takes its time", async () => {
  const upstream = await startRawUpstream({
    answer: (_request, socket) => {
      socket.write(plain);
      setTimeout(() => socket.write(rawAnswer(200, "{}")), 100);
    },
  });
  const stage = await stageProxy({ baseUrl: upstream.url });
  expect(await orderRaw(stage.port, signed)).toMatchObject({ status: 200, body: "{}", isComplete: true });
});
