import { sleep, systemClock } from "countersign/model/clock";
import type { FailureCode, Outcome } from "countersign/model/errors";
import type { Simulator } from "../service/simulator.ts";
import { call, type DemoAnswer } from "./call.ts";
import type { Demo } from "./env.ts";
import { type Facts, judge } from "./judge.ts";
import type { Scene } from "./scenes.ts";
import { describeUpstreamRequest, TokenNumbers, type UpstreamRequest } from "./upstream-request.ts";

/** A scene that is over. */
export interface SceneResult {
  readonly number: number;
  readonly scene: Scene;
  /** The requests that left the proxy, in order. */
  readonly upstreamRequests: readonly UpstreamRequest[];
  /** The answer, or why there is none. */
  readonly answer: DemoAnswer | { readonly failure: string };
  readonly durationMs: number | undefined;
  /** Countersign's own share of the duration. */
  readonly overheadMs: number | undefined;
  readonly facts: Facts;
  /** The differences from the expected facts. */
  readonly wrong: readonly string[];
}

export type RunScene = (scene: Scene, number: number) => Promise<SceneResult>;

/** Runs scenes one after another; a scene is only data. */
export function createRun({ simulator, url, finished }: Pick<Demo, "simulator" | "url" | "finished">): RunScene {
  const numbers = new TokenNumbers();
  return async (scene, number) => {
    const before = simulator.counts();
    if (scene.restMs !== undefined) await sleep(systemClock, scene.restMs);
    const planned = scene.fault === undefined ? undefined : simulator.faults.add(scene.fault);
    const answer = await call(url, scene.request).catch((error: Error) => ({ failure: error.message }));
    planned?.clear();
    await settled(simulator);
    const after = simulator.counts();
    const received = simulator.seen.apiRequests.filter((request) => request.number > before.apiRequests);
    const upstreamRequests = received.map((request) => describeUpstreamRequest(scene.request, request, numbers));
    const requestId = header(answer, "countersign-request-id");
    const event = requestId === undefined ? undefined : await finished(requestId);
    const facts: Facts = {
      ...describeAnswer(answer),
      seen: after.apiRequests - before.apiRequests,
      arrived: upstreamRequests.map(({ arrived }) => arrived),
      created: after.accepted - before.accepted,
      unauthorized: after.unauthorized - before.unauthorized,
      tokenRequests: after.tokenRequests - before.tokenRequests,
    };
    const wrong = judge(scene.expected, facts);
    return {
      number,
      scene,
      upstreamRequests,
      answer,
      durationMs: event?.durationMs,
      overheadMs: event?.overheadMs,
      facts,
      wrong,
    };
  };
}

/** Waits until the simulator has recorded how each of its answers was sent. */
async function settled({ seen, counts }: Simulator): Promise<void> {
  const { apiRequests, tokenRequests } = counts();
  await Promise.all([seen.whenApiAnswers(apiRequests), seen.whenTokenAnswers(tokenRequests)]);
}

function describeAnswer(answer: SceneResult["answer"]): Pick<Facts, "status" | "outcome" | "error" | "attempts"> {
  return {
    status: "status" in answer ? answer.status : undefined,
    outcome: header(answer, "countersign-outcome") as Outcome | undefined,
    error: header(answer, "countersign-error") as FailureCode | undefined,
    attempts: header(answer, "countersign-attempts") === "2" ? 2 : undefined,
  };
}

function header(answer: SceneResult["answer"], name: string): string | undefined {
  return "headers" in answer ? answer.headers[name] : undefined;
}
