/** A connection that may give way to another one. */
export interface Place {
  /** Who has it; all on this machine, or on a Unix socket, are one. */
  readonly owner: string;
  /** Since when it has only waited for its caller; undefined while something is done for it. */
  readonly waitsSince: number | undefined;
}

/**
 * Which connection gives way to a new one: of the owner that has most, the one that has waited the longest. So a crowd of idle or
 * slow connections shuts out nobody but those of the same owner.
 * @param owner of the new one: nobody who has less gives way to it
 * @param before one that has waited since then or later stays
 */
export function longestWaiting<Each extends Place>(
  places: Iterable<Each>,
  owner: string,
  before = Number.POSITIVE_INFINITY,
): Each | undefined {
  const all = [...places];
  const counts = new Map([[owner, 1]]);
  for (const each of all) counts.set(each.owner, (counts.get(each.owner) ?? 0) + 1);
  const countOf = (place: Place) => counts.get(place.owner) ?? 0;
  let found: Each | undefined;
  let sinceOfFound = before;
  let countOfFound = counts.get(owner) ?? 0;
  for (const each of all) {
    const since = each.waitsSince ?? before;
    const count = countOf(each);
    if (since >= before || count < countOfFound || (count === countOfFound && since >= sinceOfFound)) continue;
    found = each;
    sinceOfFound = since;
    countOfFound = count;
  }
  return found;
}
