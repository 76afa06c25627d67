/** Proves rows 3, 5, 6 and 10 on a corpus: what a caller says in its head never reaches the service unasked. */
import { expect, it } from "vitest";
import type { ApiRequest } from "../../../simulator/src/service/request-log.ts";
import { headerPairs } from "../../../testkit/header-pairs.ts";
import { rawPost } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";
import { headValueCases } from "./head-values.ts";
import { headerCases } from "./headers.ts";
import { describeRequest, play } from "./play.ts";

/** Every line of a request, sorted: name in lower case and value. */
function linesOf({ rawHeaders }: ApiRequest): string[] {
  return headerPairs(rawHeaders)
    .map(([name, value]) => `${name}: ${value}`)
    .sort();
}

const codes: Readonly<Record<number, RegExp>> = {
  400: /^malformed_request$/,
  403: /^(target_not_allowed|site_not_configured|auth_not_configured)$/,
  415: /^media_type_not_supported$/,
  431: /^headers_too_large$/,
};

it("nothing in a head reaches the service but what may", async () => {
  const stage = await stageProxy({ environment: { forwardHeaders: ["x-tenant"] } });
  const { simulator } = stage;
  const { host } = new URL(simulator.apiUrl);
  let served = 0;
  for (const [name, given, status, passed = []] of [...headerCases, ...headValueCases]) {
    const { answers, upstream, next } = await play(stage, [name, rawPost(given), [status]]);
    const [request] = upstream;
    const ours = [
      `host: ${host}`,
      "connection: keep-alive",
      "accept: application/json",
      "content-type: application/json",
      "authorization: Bearer token_1",
      "via: 1.1 countersign",
      `content-length: ${request?.body.length}`,
      `x-request-id: ${answers[0]?.headers["countersign-request-id"]}`,
    ];
    const expected = status === 200 ? ["POST /json-api/create_order framed by us"] : [];
    expect
      .soft({ statuses: answers.map((answer) => answer.status), upstream: upstream.map(describeRequest), next }, name)
      .toEqual({ statuses: [status], upstream: expected, next: 200 });
    for (const { headers } of answers)
      expect.soft(headers["countersign-error"] ?? "", name).toMatch(codes[status] ?? /^$/);
    if (request !== undefined) expect.soft(linesOf(request), name).toEqual([...ours, ...passed].sort());
    served += expected.length + 1;
  }
  expect(simulator.counts()).toMatchObject({ apiRequests: served, accepted: served, malformed: 0, incomplete: 0 });
});
