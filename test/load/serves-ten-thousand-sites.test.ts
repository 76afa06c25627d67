/**
 * Row 101: 10,000 sites in a folder, each with a secret of its own. What the start and one changed file cost is processor
 * time, however busy the machine is; series and the cost of a scrape are those of row 71.
 */
import { expect, it } from "vitest";
import { ConfigFolder } from "../../testkit/config-folder.ts";
import { scrape } from "../../testkit/exposition.ts";
import { freePort } from "../../testkit/free-port.ts";
import { siteAt, writeSiteFolder } from "../../testkit/many-sites.ts";
import { processorSeconds, residentBytes } from "../../testkit/process-use.ts";
import { startServe } from "../../testkit/run-program.ts";
import { slowestProbeMs } from "./steady-load.ts";

const sites = 10_000;

it.runIf(process.platform === "linux")("starts, and takes up one file, at little cost", async () => {
  const folder = new ConfigFolder();
  const { file, write } = writeSiteFolder(folder, { sites, port: await freePort() });
  // As in the image (docs/performance.md).
  const startedMs = performance.now();
  const program = await startServe(file, { options: ["--max-semi-space-size=4"] });
  const startMs = Math.round(performance.now() - startedMs);
  const spent: Record<string, number> = { start: processorSeconds(program) };
  const memoryMiB = residentBytes(program) / 1_048_576;
  const before = processorSeconds(program);
  const sinceMs = performance.now();
  write(sites - 1, "decimals: [fee]\n");
  const changed = program.line((line) => line.includes('"event":"sites_changed"'));
  const waitMs = await slowestProbeMs(program.adminUrl, changed, 0);
  const changedMs = performance.now() - sinceMs;
  spent["change"] = processorSeconds(program) - before;
  expect(program.events("sites_changed")).toMatchObject([
    { added: 0, changed: 1, removed: 0, names: [siteAt(sites - 1)] },
  ]);
  const page = await (await fetch(program.statusUrl)).text();
  expect(page.length).toBeLessThan(2_000_000);
  const { series, sum } = await scrape(program.adminUrl);
  expect(sum("countersign_sites")).toBe(sites);
  const scraped = processorSeconds(program);
  for (let n = 0; n < 10; n += 1) await scrape(program.adminUrl);
  spent["scrape"] = (processorSeconds(program) - scraped) / 10;
  const change = `active after ${Math.round(changedMs)} ms, others wait ${Math.round(waitMs)} ms at most`;
  const figures = `${Math.round(memoryMiB)} MiB, ${series.size} series, ${change}`;
  process.stdout.write(
    `${sites} sites in a folder: started after ${startMs} ms, ${figures}, processor time in s: ${JSON.stringify(spent)}\n`,
  );
  expect(spent["start"]).toBeLessThan(10 * 2);
  expect(spent["change"]).toBeLessThan(10 * 0.4);
  expect(spent["scrape"]).toBeLessThan(0.05);
  expect(changedMs).toBeLessThan(10 * 1_000);
  expect(waitMs).toBeLessThan(10 * 50);
  expect(series.size).toBeLessThan(1_000);
  expect(memoryMiB).toBeLessThan(300);
});
