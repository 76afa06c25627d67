import { createHash } from "node:crypto";

/** Where Redis keeps what its scripts take for the time, in ms. */
export const timeKey = "fleet:time";

const askingRedis = "redis.call('TIME')";
/** TIME's answer, seconds and microseconds, from the injected clock. */
const askingTheFleet = `(function()
  local ms = tonumber(redis.call('GET', '${timeKey}'))
  return { math.floor(ms / 1000), (ms % 1000) * 1000 }
end)()`;

/**
 * Redis lives by the machine's clock, and TIME cannot be set. So the scripts on their way to Redis are given another one to
 * ask, and nothing else about them changes: neither what they do nor how many commands it takes to run them.
 */
export class ScriptTime {
  /** By the SHA-1 of the script as it was written: the SHA-1 of what is run in its place. */
  readonly #replaced = new Map<string, string>();

  /** The text of a script, or its hash, as it goes to Redis. */
  replace(command: string, textOrSha: string): string {
    if (command === "evalsha") return this.#replaced.get(textOrSha) ?? textOrSha;
    if (command !== "eval") return textOrSha;
    const text = textOrSha.replaceAll(askingRedis, askingTheFleet);
    if (/\bTIME\b/.test(text)) throw new Error("this script asks Redis for the time in a way that is not known here");
    this.#replaced.set(hash(textOrSha), hash(text));
    return text;
  }
}

function hash(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
