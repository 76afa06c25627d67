import type { Config } from "../config/config.ts";
import type { Report } from "../model/events.ts";

const mostNamed = 20;

/**
 * Reports what has changed among the sites that have files of their own.
 * @param before the configuration that was active; undefined at the start
 */
export function reportSites(before: Config | undefined, after: Config, report: Report): void {
  for (const { name: environment, sites, siteFolder } of after.environments.values()) {
    if (siteFolder === undefined) continue;
    const earlier = before?.environments.get(environment);
    const told = new Set(earlier?.siteFolder?.refused.map((each) => JSON.stringify(each)));
    for (const refused of siteFolder.refused) {
      if (!told.has(JSON.stringify(refused))) report({ kind: "site_file_refused", environment, ...refused });
    }
    if (earlier === undefined) continue;
    const added = [...sites.keys()].filter((site) => !earlier.sites.has(site));
    const changed = [...sites].filter(([site, now]) => earlier.sites.has(site) && earlier.sites.get(site) !== now);
    const removed = [...earlier.sites.keys()].filter((site) => !sites.has(site));
    const names = [...added, ...changed.map(([site]) => site), ...removed].slice(0, mostNamed);
    if (names.length === 0) continue;
    const counts = { added: added.length, changed: changed.length, removed: removed.length };
    report({ kind: "sites_changed", environment, ...counts, names });
  }
}
