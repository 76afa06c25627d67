import { countOf } from "countersign/cli/command";
import { paint } from "countersign/cli/terminal";
import type { DemoAnswer } from "./call.ts";
import { formatLabelled, formatLines, formatMs } from "./layout.ts";
import type { SceneResult } from "./run.ts";
import type { Line, UpstreamRequest } from "./upstream-request.ts";

/** Headers of the answer that are shown: Countersign's own, and Retry-After. */
const shownHeader = /^(countersign-(?!request-id)|retry-after)/;

/** One scene: the application's request, the requests that left the proxy, the answer, and whether all is as expected. */
export function formatScene(result: SceneResult, width: number): string[] {
  const sent = describeSent(result);
  const back = describeBack(result.answer);
  const lines = result.upstreamRequests.map((each, index) =>
    index === 0 ? linesOf(each) : difference(result.upstreamRequests[index - 1], each),
  );
  const nameWidth = Math.max(0, ...[...sent, ...back, ...lines.flat()].map(({ name }) => name.length));
  const columns = (rows: readonly Line[]) => formatLines(rows, nameWidth, width);
  return [
    formatTitle(result, width),
    "",
    ...formatLabelled("sent", `${result.scene.request.method} ${result.scene.request.path}`, width),
    ...columns(sent),
    "",
    ...(result.upstreamRequests.length === 0 ? [...formatLabelled("left", "nothing", width), ""] : []),
    ...result.upstreamRequests.flatMap((each, index) => [
      ...formatLabelled(index === 0 ? "left" : "again", `POST ${each.target}`, width),
      ...columns(lines[index] ?? []),
      ...(index === 0 ? [] : formatLabelled("", paint("dim", "the rest as before"), width)),
      ...formatLabelled("", paint("dim", `→ ${each.became}`), width),
      "",
    ]),
    ...formatLabelled("back", describeStatus(result.answer), width),
    ...columns(back),
    "",
    ...formatLabelled("service", describeCounts(result), width),
    ...formatLabelled("took", describeTimes(result), width),
    ...result.wrong.flatMap((wrong) => formatLabelled("wrong", paint("red", wrong), width)),
  ];
}

function formatTitle({ number, scene, wrong }: SceneResult, width: number): string {
  const verdict = wrong.length === 0 ? "ok" : "not ok";
  const title = `${number}  ${scene.title}`.padEnd(width - verdict.length);
  return `${paint("bold", title)}${paint(wrong.length === 0 ? "green" : "red", verdict)}`;
}

function describeSent({ scene: { request } }: SceneResult): Line[] {
  return [
    ...Object.entries(request.headers).map(([name, value]) => keep(`${name}:`, value)),
    ...Object.entries(request.body).map(([name, value]) => keep(name, JSON.stringify(value))),
  ];
}

function linesOf({ headers, parameters }: UpstreamRequest): Line[] {
  return [...headers.map((line) => ({ ...line, name: `${line.name}:` })), ...parameters];
}

/** The lines of the second request that the first does not have. */
function difference(first: UpstreamRequest | undefined, second: UpstreamRequest): Line[] {
  const known = new Set(first === undefined ? [] : linesOf(first).map(({ name, value }) => `${name} ${value}`));
  return linesOf(second).filter(({ name, value }) => !known.has(`${name} ${value}`));
}

function describeStatus(answer: SceneResult["answer"]): string {
  return "failure" in answer ? `no answer: ${answer.failure}` : `${answer.status} ${answer.reason}`;
}

function describeBack(answer: SceneResult["answer"]): Line[] {
  if ("failure" in answer) return [];
  const own = Object.entries(answer.headers)
    .filter(([name]) => shownHeader.test(name))
    .map(([name, value]): Line => ({ name: `${name}:`, value, mark: "added" }));
  return [...own, ...describeBody(answer)];
}

/** One line for each member, and for each member one level down. */
function describeBody({ body }: DemoAnswer): Line[] {
  const whole = parse(body);
  if (!isObject(whole)) return [keep("", body)];
  return Object.entries(whole).flatMap(([name, value]) => {
    if (!isObject(value)) return [keep(name, JSON.stringify(value))];
    return Object.entries(value).map(([inner, each]) => keep(`${name}.${inner}`, JSON.stringify(each)));
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function keep(name: string, value: string): Line {
  return { name, value, mark: "kept" };
}

function describeCounts({ facts }: SceneResult): string {
  const { seen, unauthorized, created, tokenRequests } = facts;
  const parts = [
    `saw ${countOf(seen, "request")}`,
    ...(unauthorized === 0 ? [] : [`${unauthorized} answered 401`]),
    ...(created === 0 ? [] : [`${countOf(created, "order")} created`]),
    countOf(tokenRequests, "token request"),
  ];
  return parts.join(", ");
}

function describeTimes({ durationMs, overheadMs }: SceneResult): string {
  if (durationMs === undefined || overheadMs === undefined) return "unknown";
  return `${formatMs(durationMs)}, of which Countersign ${formatMs(overheadMs)}`;
}
