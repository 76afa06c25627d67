import { ProxyError } from "../../src/model/errors.ts";

/** What the step refuses with; a step that accepts, or breaks, fails the test. */
export function refusalOf(step: () => unknown): ProxyError {
  try {
    step();
  } catch (error) {
    if (error instanceof ProxyError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}
