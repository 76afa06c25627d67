import type { TestProject } from "vitest/node";
import { redisIsMissing } from "./left-out.ts";
import { findRedis } from "./redis-home.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The tests' common Redis, or why there is none. */
    redis: { readonly kind: string; readonly url: string } | { readonly kind: "none"; readonly why: string };
  }
}

/** One Redis for a whole run; tests that need none do not fail for the lack of it. */
export default async function setup({ name, provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (name === "unit" || redisIsMissing()) return undefined;
  try {
    const { kind, url, end } = await findRedis(process.env);
    provide("redis", { kind, url });
    return end;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    say(why);
    provide("redis", { kind: "none", why });
    return async () => {};
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
