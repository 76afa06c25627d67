import type { Agent } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import { type Called, call } from "../../testkit/call.ts";

interface LoadOptions {
  readonly perSecond: number;
  readonly lastsMs: number;
  readonly agent?: Agent;
  /** Default: a small order. */
  readonly bodyOf?: () => Buffer | undefined;
}

/**
 * Sends orders at a steady pace, however long the answers take. Resolves when all have been answered, with `goodput`: orders served
 * each second, while the load lasted; and `strange`: every answer that is neither a served order nor a refusal, in words.
 */
export async function load(url: string, { perSecond, lastsMs, bodyOf, agent }: LoadOptions) {
  const startedMs = performance.now();
  const refusedMs: number[] = [];
  const strange: string[] = [];
  let served = 0;
  const send = async () => {
    const sentMs = performance.now();
    const body = bodyOf?.();
    const answer = await call(url, body, { agent }).catch((error: unknown) => String(error));
    if (typeof answer === "string") strange.push(`a body of ${body?.length} bytes: ${answer}`);
    else if (answer.status === 200) served += 1;
    else if (isRefusal(answer)) refusedMs.push(performance.now() - sentMs);
    else strange.push(`a body of ${body?.length} bytes: ${answer.status} ${answer.text}`);
  };
  const all: Promise<void>[] = [];
  while (performance.now() - startedMs < lastsMs) {
    const due = Math.floor(((performance.now() - startedMs) * perSecond) / 1_000);
    while (all.length < due) all.push(send());
    await wait(5);
  }
  const goodput = (served * 1_000) / (performance.now() - startedMs);
  await Promise.all(all);
  return { served, goodput, refusedMs, strange };
}

/** Whether an answer is 503 `overloaded`, which says that nothing was sent, and when to come back. */
function isRefusal({ status, headers, json }: Called): boolean {
  const isOverload = status === 503 && json?.code === "overloaded" && json.outcome === "not_sent";
  return isOverload && headers["retry-after"] !== undefined;
}

/** Sends probes one after another until the promise resolves; returns the slowest one's time. Each must get 200. */
export async function slowestProbeMs(adminUrl: string, until: Promise<unknown>, pauseMs = 20): Promise<number> {
  let isOver = false;
  const stop = () => {
    isOver = true;
  };
  until.then(stop, stop);
  let slowestMs = 0;
  while (!isOver) {
    const sinceMs = performance.now();
    expect((await call(adminUrl, "", { method: "GET", path: "/livez" })).status).toBe(200);
    slowestMs = Math.max(slowestMs, performance.now() - sinceMs);
    await wait(pauseMs);
  }
  await until;
  return slowestMs;
}
