import type { TestProject } from "vitest/node";
import { findRedis } from "./redis-home.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The tests' common Redis, or why there is none. */
    redis: { readonly kind: string; readonly url: string } | { readonly kind: "none"; readonly why: string };
  }
}

/** One Redis for a whole run; tests that need none do not fail for the lack of it. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  try {
    const { kind, url, end } = await findRedis(process.env, say);
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
