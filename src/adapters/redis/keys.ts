/**
 * Names in Redis: `countersign:{<cacheKey>}:…`. All of a set's keys share its hash tag, so that a Cluster keeps them on one
 * node and scripts may use them together.
 */
export function redisKeys(cacheKey: string): {
  readonly token: string;
  readonly conduct: string;
  readonly lock: string;
} {
  const prefix = `countersign:{${cacheKey}}`;
  return { token: `${prefix}:token`, conduct: `${prefix}:conduct`, lock: `${prefix}:lock` };
}
