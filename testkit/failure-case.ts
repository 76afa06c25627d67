import type { FailureCode } from "../src/model/errors.ts";
import { type Called, call, order } from "./call.ts";
import type { Answered } from "./expect-failure.ts";
import { type Stage, type StageOptions, stageProxy } from "./stage.ts";

/** The caller's own key for the order in every case that can carry one. */
export const reference = "A-1042";

/** One way to provoke a failure through the whole proxy. */
export interface FailureCase {
  readonly code: FailureCode;
  /** In words, to tell the ways apart. */
  readonly way: string;
  readonly status: number;
  /** Default `not_sent`. */
  readonly outcome?: "not_sent" | "unknown";
  /** What the detail says of its own. */
  readonly detail: RegExp;
  /** How many requests the service saw in all; default 0. */
  readonly sent?: number;
  /** False where the head could not be read, so that no reference is known. */
  readonly isReferenced?: false;
  readonly provoke: () => Promise<Provoked>;
}

export interface Provoked {
  readonly stage: Stage;
  readonly answer: Answered;
}

/** A call with the reference and whatever else is wrong with it. */
export function callBadly(
  stage: Stage,
  { path = "/create_order", method = "POST", headers = {}, body = order }: Wrong = {},
): Promise<Called> {
  return call(stage.url, body, { path, method, headers: { "Countersign-Reference": reference, ...headers } });
}

export interface Wrong {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

/** The provocation that is nothing but a bad call to a stage. */
export function byCalling(wrong: Wrong, options: StageOptions = {}): () => Promise<Provoked> {
  return async () => {
    const stage = await stageProxy(options);
    return { stage, answer: await callBadly(stage, wrong) };
  };
}
