import { configSchema } from "../config/schema.ts";
import { readDocument } from "../config/yaml.ts";
import { usageFailure } from "./command.ts";

/** What a configuration says about the end of the process. */
export interface Drain {
  /** `drain.minSeconds`. */
  readonly minSeconds: number;
  /** From SIGTERM to the end at the latest, and a reserve of 5 s; whole seconds. */
  readonly seconds: number;
}

/** For last answers, once the longest request has ended. */
const lastAnswersSeconds = 2;
const reserveSeconds = 5;

/** Reads only these settings of a configuration: its secrets are in the cluster, so nothing else of it can be judged here. */
export function readDrain(file: string | undefined, text: string): Drain {
  const { value, yamlProblems } = readDocument(text);
  const { drain, timeouts } = configSchema.shape;
  const given = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const [ofDrain, ofTimeouts] = [drain.safeParse(given["drain"]), timeouts.safeParse(given["timeouts"])] as const;
  if (yamlProblems.length > 0 || !ofDrain.success || !ofTimeouts.success) {
    throw usageFailure(`${file}: drain and timeouts cannot be read; countersign check says what is wrong.`);
  }
  const { minSeconds } = ofDrain.data;
  const requestSeconds = Math.ceil(ofTimeouts.data.request / 1_000);
  return { minSeconds, seconds: Math.ceil(minSeconds) + requestSeconds + lastAnswersSeconds + reserveSeconds };
}
