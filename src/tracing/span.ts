/** Values of attributes; one that is undefined is left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** As OTLP numbers them. */
export const spanKinds = { internal: 1, server: 2, client: 3 } as const;

/** Another span that a span has to do with. */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
}

/** One piece of work, complete (OpenTelemetry). It holds no secret and no value of a parameter. */
export interface Span extends SpanLink {
  readonly parentSpanId: string | undefined;
  readonly traceState?: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof spanKinds;
  /** By the wall clock, in milliseconds since the Unix epoch; fractions count. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly links?: readonly SpanLink[];
  readonly isError: boolean;
}

/** Takes complete spans. It never throws and never waits. */
export type RecordSpan = (span: Span) => void;
