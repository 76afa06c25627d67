import { TLSSocket } from "node:tls";
import type { TracingConfig } from "../../config/config.ts";
import { withoutBrackets } from "../../model/environment.ts";
import { ask } from "../ask.ts";
import { type Check, type CheckResult, fail, ok, type Run, timed, warn } from "./check.ts";
import { connectTo, type Destination, explainNoConnection } from "./tls.ts";

const longestConnectMs = 5_000;
const answerMs = 5_000;
/** An ExportTraceServiceRequest without a span. */
const noSpans = '{"resourceSpans":[]}';

/** Whether the collector takes what is exported: it gets one export without spans. */
export async function checkTracing(run: Run): Promise<Check[]> {
  const { tracing } = run.config;
  if (tracing === undefined) return [];
  const { host, port } = tracing.endpoint;
  return [
    await timed(run, { topic: "tracing", subject: `collector ${host}:${port}` }, () => checkCollector(tracing, run)),
  ];
}

async function checkCollector({ endpoint, headers, tls }: TracingConfig, run: Run): Promise<CheckResult> {
  const { clock, config } = run;
  const to: Destination = {
    place: `${endpoint.host}:${endpoint.port}`,
    host: withoutBrackets(endpoint.host),
    setting: "tracing.otlp.endpoint",
    tlsSetting: "tracing.otlp.tls",
    connectMs: Math.min(config.timeouts.connectMs, longestConnectMs),
  };
  const { socket, certificate, code } = await connectTo({ address: endpoint, connectMs: to.connectMs }, tls, clock);
  try {
    if (code !== undefined) return explainNoConnection(code, to, certificate, clock.wallMs());
    const protocol = socket instanceof TLSSocket ? socket.getProtocol() : undefined;
    const sent = Object.fromEntries([...headers].map(([name, value]) => [name, value.reveal()]));
    const own = { host: new URL(endpoint.origin).host, "content-type": "application/json", connection: "close" };
    const options = { method: "POST", path: endpoint.path, createConnection: () => socket };
    const answer = await ask({ ...options, headers: { ...sent, ...own } }, answerMs, clock, noSpans);
    return typeof answer === "string"
      ? warn(`it takes connections, and does not answer (${answer})`, `see that ${to.setting} is OTLP over HTTP`)
      : evaluateAnswer(answer.status, to, protocol ?? "no TLS");
  } finally {
    socket.destroy();
  }
}

function evaluateAnswer(status: number, to: Destination, protocol: string): CheckResult {
  if (status >= 200 && status <= 299) return ok(`it takes spans (${protocol})`);
  const detail = `it does not take spans (HTTP ${status})`;
  if (status === 401 || status === 403) return fail(detail, "correct the values in tracing.otlp.headers");
  if (status === 404 || status === 405) return fail(detail, `correct the path in ${to.setting}, mostly /v1/traces`);
  if (status === 415) return fail(detail, "let the collector take OTLP over HTTP in JSON");
  return warn(detail, "see the collector's own log; spans wait, up to 2048, and requests go on");
}
