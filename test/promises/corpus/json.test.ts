/** Each document is refused with 400, 422 or 413 and never sent, or arrives with the caller's exact values. */
import { expect, it } from "vitest";
import { readJson } from "../../../simulator/src/service/read-parameters.ts";
import { signatureOf, stringToSign } from "../../../simulator/src/service/verify-signature.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { type RawRequest, type RawUpstream, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { canaries, hmacSite, stage } from "../../../testkit/stage.ts";
import { type Document, documents, type Sent } from "./json.ts";

const all = Object.values(documents).flat();
const byTheProxy: ReadonlySet<string> = new Set(["version", "site_identifier", "timestamp", "signature"]);
const siteHeader = [`Countersign-Site: ${hmacSite}`];

it("the corpus is large, and has each text once", () => {
  expect(all.length).toBeGreaterThanOrEqual(300);
  const texts = all.map(({ body }) => Buffer.from(body).toString("latin1"));
  expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([]);
});

it.each(["off", "reject"] as const)(
  "every document has exactly its promised outcome, and the next order is served, at a site with characters: %s",
  async (characters) => {
    const upstream = await startRawUpstream({ answer: rawAnswer(200, "{}") });
    const { port } = await stage({ baseUrl: upstream.url, site: { characters } });
    for (const document of documents[characters]) {
      expect.soft(await play(port, upstream, document), document.name).toEqual(foretell(document));
    }
    const served = documents[characters].filter(({ outcome }) => isSent(outcome)).length;
    expect(upstream.requests.length).toBe(served + documents[characters].length);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);

function foretell({ outcome, identifier = hmacSite }: Document) {
  const answer = isSent(outcome) ? { status: 200, code: undefined } : outcome;
  const arrived = isSent(outcome)
    ? [{ own: outcome, version: "3.0", identifier, isStamped: true, isSigned: true }]
    : [];
  return { ...answer, arrived, next: 200 };
}

/** Sends the document, and then a plain order on another connection. */
async function play(port: number, upstream: RawUpstream, { body }: Document) {
  const seen = upstream.requests.length;
  const text = Buffer.from(body).toString("latin1");
  const framing = [`Content-Length: ${body.length}`];
  const { status, headers } = await ask(port, { framing, more: siteHeader, body: text });
  const arrived = upstream.requests.slice(seen).map(readArrived);
  const next = (await ask(port, { more: siteHeader })).status;
  return { status, code: headers["countersign-error"], arrived, next };
}

function readArrived({ body }: RawRequest) {
  const reading = readJson(Buffer.from(body, "latin1"));
  if (!reading.ok) return { unreadable: reading.detail };
  const { parameters } = reading;
  const identifier = parameters.get("site_identifier");
  const secret = identifier === "K2000000002" ? canaries.keyTwo : canaries.keyOne;
  const stampedAgoSeconds = Date.now() / 1_000 - Number(parameters.get("timestamp"));
  return {
    own: [...parameters].filter(([name]) => !byTheProxy.has(name)),
    version: parameters.get("version"),
    identifier,
    isStamped: Math.abs(stampedAgoSeconds) < 60,
    isSigned: parameters.get("signature") === signatureOf(stringToSign(parameters), secret),
  };
}

function isSent(outcome: Document["outcome"]): outcome is readonly Sent[] {
  return Array.isArray(outcome);
}
