import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import { searchOutflow } from "./leaks/outflow.ts";

/** A span as a collector reads it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "server" | "client";
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
}

export interface CollectorRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly resource: Readonly<Record<string, string | number>>;
  readonly spans: readonly CollectedSpan[];
}

export interface Collector {
  readonly url: string;
  readonly requests: CollectorRequest[];
  spans(): CollectedSpan[];
  /** All spans, as soon as there are at least this many. */
  atLeast(count: number): Promise<CollectedSpan[]>;
  /** Writes the collector's answer from now on; undefined: status 200. */
  answer: ((response: ServerResponse) => void) | undefined;
}

type Raw = Readonly<Record<string, unknown>>;

const kinds = { 1: "internal", 2: "server", 3: "client" } as const;
const spanKeys =
  "traceId spanId parentSpanId traceState name kind startTimeUnixNano endTimeUnixNano attributes links status";

/** A collector for OTLP over HTTP in JSON, on its own socket. It accepts only fields that OTLP's proto has. */
export async function startCollector(port = 0): Promise<Collector> {
  const arrivals = new EventEmitter().setMaxListeners(0);
  const requests: CollectorRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const text = await textOf(incoming);
    searchOutflow("spans", text);
    if (collector.answer !== undefined) {
      arrivals.emit("request");
      return collector.answer(response);
    }
    requests.push({ path: incoming.url ?? "", headers: incoming.headers, ...readExport(text) });
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
    arrivals.emit("request");
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const spans = () => requests.flatMap((request) => request.spans);
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    requests,
    spans,
    async atLeast(count) {
      while (spans().length < count) await once(arrivals, "request");
      return spans();
    },
    answer: undefined,
  };
  return collector;
}

/** An ExportTraceServiceRequest in JSON. */
export function readExport(text: string): Pick<CollectorRequest, "resource" | "spans"> {
  const request: { readonly resourceSpans: readonly Raw[] } = JSON.parse(text);
  const [of, ...others] = request.resourceSpans as [Raw & { resource: Raw; scopeSpans: readonly Raw[] }];
  expect(others).toEqual([]);
  const [scope] = of.scopeSpans as [Raw & { readonly spans: readonly Raw[] }];
  expect(scope["scope"]).toEqual({ name: "countersign", version: expect.any(String) });
  return { resource: readAttributes(of.resource["attributes"]), spans: scope.spans.map(readSpan) };
}

function readSpan(raw: Raw): CollectedSpan {
  expect(spanKeys.split(" ")).toEqual(expect.arrayContaining(Object.keys(raw)));
  const { traceId, spanId, parentSpanId, traceState, name, kind, attributes, links = [], status } = raw;
  expect(traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
  expect(spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
  return {
    traceId: String(traceId),
    spanId: String(spanId),
    parentSpanId: parentSpanId as string | undefined,
    traceState: traceState as string | undefined,
    name: String(name),
    kind: kinds[kind as keyof typeof kinds],
    startMs: readMs(raw["startTimeUnixNano"]),
    endMs: readMs(raw["endTimeUnixNano"]),
    attributes: readAttributes(attributes),
    links: links as CollectedSpan["links"],
    isError: (status as Raw | undefined)?.["code"] === 2,
  };
}

function readMs(nanoseconds: unknown): number {
  expect(nanoseconds).toMatch(/^\d{19}$/);
  return Number(nanoseconds) / 1e6;
}

function readAttributes(list: unknown): Record<string, string | number> {
  const entries = list as readonly { readonly key: string; readonly value: Raw }[];
  return Object.fromEntries(
    entries.map(({ key, value: { stringValue, intValue, ...others } }) => {
      expect(others).toEqual({});
      if (intValue !== undefined) expect(intValue).toMatch(/^-?\d+$/);
      return [key, intValue === undefined ? String(stringValue) : Number(intValue)];
    }),
  );
}
