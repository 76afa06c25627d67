import type { TracingConfig } from "../../config/config.ts";
import { placeOf } from "../../model/environment.ts";
import { type Bind, describeBind } from "../../model/listener.ts";
import { askAdmin } from "../ask.ts";
import { printable } from "../terminal.ts";
import { boundMs, type Check, type CheckResult, fail, ok, type Run, skip, timed, warn } from "./check.ts";
import { checkConnection, type Destination, evaluateConnection, probe, targetAt } from "./connection.ts";

/** Whether the applications that callbacks go to take connections. They get none. Sites without keys are warned of with the configuration. */
export function checkCallbacks(run: Run): Promise<Check[]> {
  const checks = run.config.callbacks.map(({ environment, application: { url, tls } }, index) => {
    const path = `callbacks[${index}].application`;
    const to = targetAt(url, tls, { setting: `${path}.url`, tlsSetting: `${path}.tls` }, run);
    const about = { topic: "callback" as const, environment, subject: `application ${to.place}` };
    return timed(run, about, () => checkConnection(to, run));
  });
  return Promise.all(checks);
}

/** An ExportTraceServiceRequest without a span. */
const noSpans = '{"resourceSpans":[]}';

/** Whether the collector takes what is exported: it gets one export without spans. */
export async function checkTracing(run: Run): Promise<Check[]> {
  const { tracing } = run.config;
  if (tracing === undefined) return [];
  const about = { topic: "tracing" as const, subject: `collector ${placeOf(tracing.endpoint)}` };
  return [await timed(run, about, () => checkCollector(tracing, run))];
}

async function checkCollector({ endpoint, headers: secrets, tls }: TracingConfig, run: Run): Promise<CheckResult> {
  const to = targetAt(endpoint, tls, { setting: "tracing.otlp.endpoint", tlsSetting: "tracing.otlp.tls" }, run);
  const sent = Object.fromEntries([...secrets].map(([name, value]) => [name, value.reveal()]));
  const headers = { ...sent, "content-type": "application/json" };
  const probed = await probe(to, run.clock, { method: "POST", path: endpoint.path, headers, body: noSpans });
  const connection = evaluateConnection(probed, to, run.clock.wallMs());
  if (connection.verdict === "fail") return connection;
  const { answer, code, protocol = "no TLS" } = probed;
  return answer === undefined
    ? warn(`it takes connections, and does not answer (${code})`, `see that ${to.setting} is OTLP over HTTP`)
    : evaluateExport(answer.status, to, protocol);
}

function evaluateExport(status: number, to: Destination, protocol: string): CheckResult {
  if (status >= 200 && status <= 299) return ok(`it takes spans (${protocol})`);
  const detail = `it does not take spans (HTTP ${status})`;
  if (status === 401 || status === 403) return fail(detail, "correct the values in tracing.otlp.headers");
  if (status === 404 || status === 405) return fail(detail, `correct the path in ${to.setting}, mostly /v1/traces`);
  if (status === 415) return fail(detail, "let the collector take OTLP over HTTP in JSON");
  return warn(detail, "see the collector's own log; spans wait, up to 2048, and requests go on");
}

const answerMs = 3_000;

/** The `serve` beside: whether it is ready, and whether it runs with this configuration. */
export async function checkServe(run: Run): Promise<Check[]> {
  const about = { topic: "serve" as const, subject: `admin ${describeBind(run.config.admin)}` };
  return [await timed(run, about, () => askServe(run))];
}

async function askServe(run: Run): Promise<CheckResult> {
  const { admin, hash } = run.config;
  if (admin.kind === "tcp" && admin.port === 0) return skip("the admin port is any free one, so it cannot be asked");
  const get = (path: string) => askAdmin(admin, path, boundMs(run, answerMs), run.clock);
  const ready = await get("/readyz");
  if (typeof ready === "string") return explainSilence(ready, admin);
  const metrics = await get("/metrics");
  const text = typeof metrics === "string" ? "" : metrics.text;
  const active = /^countersign_config_info\{hash="([0-9a-f]{1,64})"\} 1$/m.exec(text)?.[1];
  if (active === undefined) {
    return fail("something listens there that is not Countersign", "give admin.bind another port, or end what has it");
  }
  if (active !== hash) {
    const fix =
      "its log says why (config_refused); what changed a moment ago is taken up within 10 s; " +
      "a subPath mount and the environment only by a restart";
    return warn(`runs with another active configuration (${active}) than this file is (${hash})`, fix);
  }
  if (ready.status === 200) return ok(`runs with this configuration (${hash}), and is ready`);
  const detail = `runs with this configuration (${hash}), and is not ready: ${printable(ready.text)}`;
  return warn(detail, "see the lines above: a token is what it waits for");
}

function explainSilence(code: string, admin: Bind): CheckResult {
  if (code === "ECONNREFUSED" || code === "ENOENT") return skip("nothing listens there, so serve does not run here");
  const fix = `see what listens at ${describeBind(admin)}: a serve that hangs, or something else`;
  return fail(`no answer (${code})`, fix);
}
