/** Where Redis keeps what its scripts take for the time, in ms. */
export const timeKey = "fleet:time";

const askingRedis = "redis.call('TIME')";
/** TIME's answer, seconds and microseconds, from the injected clock. */
const askingTheFleet = `(function()
  local ms = tonumber(redis.call('GET', '${timeKey}'))
  return { math.floor(ms / 1000), (ms % 1000) * 1000 }
end)()`;

/**
 * The text of a script as it goes to Redis; other commands as they are. Redis lives by the machine's clock, and TIME cannot be
 * set. So scripts are given another clock to ask, and nothing else about them changes: neither what they do nor how many
 * commands it takes to run them.
 */
export function replaceTime(command: string, text: string): string {
  if (command !== "eval") return text;
  const replaced = text.replaceAll(askingRedis, askingTheFleet);
  if (/\bTIME\b/.test(replaced)) throw new Error("this script asks Redis for the time in a way that is not known here");
  return replaced;
}
