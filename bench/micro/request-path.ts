import { ResponseReader } from "countersign/adapters/http-client/response-reader";
import { HeadReader } from "countersign/adapters/http-server/request-reader";
import { systemClock } from "countersign/model/clock";
import type { Environment, Site } from "countersign/model/environment";
import { Secret } from "countersign/model/secret";
import { authenticate } from "countersign/orders/authenticate";
import { prepare } from "countersign/orders/enrich";
import { createRequestHandler } from "countersign/orders/handler";
import { readParameters } from "countersign/parameters/parameters";
import { signWith } from "countersign/serving/authentication";
import { BufferBudget } from "countersign/serving/buffer-budget";
import { ConcurrencyLimit } from "countersign/serving/concurrency-limit";
import { SlowAnswers } from "countersign/serving/forward";
import type { Answer, CallerRequest, RequestHandler, Tracer } from "countersign/serving/messages";
import { encodeSpan } from "countersign/tracing/span-exporter";
import { SpanTracer } from "countersign/tracing/tracer";
import { order } from "../http/job.mjs";

// One order without sockets: the client's request, the proxy's work on it, and the service's answer.

const body = Buffer.from(order);
const headers = ["Host", "127.0.0.1:7411", "Content-Type", "application/json", "Content-Length", String(body.length)];
const requestHead = Buffer.from(
  `POST /create_order HTTP/1.1\r\n${headers.map((text, n) => text + (n % 2 === 0 ? ": " : "\r\n")).join("")}\r\n`,
);
const answer = Buffer.from('{"status":"ok","order_identifier":"O1"}');
const answerHeaders = ["Content-Type", "application/json", "Content-Length", String(answer.length)];
const response = Buffer.concat([
  Buffer.from(
    `HTTP/1.1 200 OK\r\n${answerHeaders.map((text, n) => text + (n % 2 === 0 ? ": " : "\r\n")).join("")}\r\n`,
  ),
  answer,
]);

/** Reads the head of a request. */
export function openRequestReader(): () => void {
  const reader = new HeadReader();
  return () => void reader.read(requestHead, 0);
}

/** Reads a whole response. */
export function openResponseReader(): () => void {
  const reader = new ResponseReader();
  return () => {
    reader.begin();
    reader.read(response, response.length);
  };
}

/** From the bytes of a body to the body that is sent, signed. */
export function openSigning(): () => void {
  const environment = createEnvironment();
  const site = [...environment.sites.values()][0];
  if (site === undefined) throw new Error("there is a site");
  const route = { environment, operation: "create_order", site, key: undefined };
  return () => {
    const prepared = prepare(route, readParameters(body), headers, "id");
    authenticate({ request: prepared, material: signWith(route) }, () => 1_700_000_000).render();
  };
}

/** All that the proxy does for an order, except sockets, metrics and log. It must be awaited. */
export function openHandler(tracer?: Tracer): () => Promise<void> {
  const environment = createEnvironment();
  let requests = 0;
  const handler: RequestHandler = createRequestHandler(
    {
      clock: systemClock,
      report: () => {},
      tokensOf: () => {
        throw new Error("the site signs");
      },
      upstreamHeaders: [],
      slowAnswers: new SlowAnswers(),
      once: { shared: undefined, lifetimeMs: 0, redisWaitMs: 0, header: "Countersign-Once" },
      newRequestId: () => String(++requests),
      requestMs: 20_000,
      concurrency: new ConcurrencyLimit(1),
      buffers: new BufferBudget(2 ** 30, systemClock),
      tracer,
      send(request, _, onConnected) {
        onConnected();
        request.render();
        return Promise.resolve({ status: 200, headers: answerHeaders, body: answer, discard() {} });
      },
    },
    { environment, hosts: new Set(["127.0.0.1"]), url: "http://127.0.0.1:7411", listener: "127.0.0.1:7411" },
  );
  return () => handler.handle(new Order());
}

/** The same as `openHandler`, with spans, encoded as they wait for their export. */
export function openTracedHandler(): () => Promise<void> {
  let n = 0;
  const tracer = new SpanTracer({
    clock: systemClock,
    randomHex: (bytes) => (++n).toString(16).padStart(2 * bytes, "a"),
    record: encodeSpan,
    sampleRatio: 1,
    propagation: "callers",
  });
  return openHandler(tracer);
}

class Order implements CallerRequest {
  readonly method = "POST";
  readonly target = "/create_order";
  readonly headers = headers;
  readonly headBytes = requestHead.length;
  readonly peer = { address: "127.0.0.1", subject: undefined };
  isClosed = () => false;
  answeredStatus = () => undefined;
  readBody = () => body;
  answer({ status }: Answer): undefined {
    if (status !== 200) throw new Error(`the order was refused with ${status}`);
  }
}

function createEnvironment(): Environment {
  const key = { identifier: "K1000000001", version: "3.0", secret: new Secret("a-key-for-the-benchmark-only") };
  const site: Site = {
    identifier: "S1000000001",
    parent: undefined,
    version: "3.0",
    auth: ["hmac"],
    identifyBy: "site",
    characters: "warn",
    exempt: new Set(["format", "signature", "call"]),
    decimals: new Set(),
    keys: [key],
    defaultKey: key,
    credentials: undefined,
  };
  return {
    name: "production",
    baseUrl: { origin: "https://api.example", scheme: "https", host: "api.example", port: 443, path: "/json-api" },
    authUrl: undefined,
    operations: new Set(["create_order"]),
    defaultSite: site.identifier,
    sites: new Map([[site.identifier, site]]),
    siteOfKey: new Map([[key.identifier, site]]),
    undecided: "5xx",
    forwardHeaders: [],
    via: true,
    tls: { ca: undefined, cert: undefined, key: undefined },
  };
}
