import { ProxyError } from "../../src/model/errors.ts";

/** The refusal of the step; a step that accepts, or throws another error, fails the test. */
export function refusalOf(step: () => unknown): ProxyError {
  try {
    step();
  } catch (error) {
    if (error instanceof ProxyError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}
