import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { Pool } from "undici";
import { flag, readOptions as read, runCommand, wholeNumber } from "../../scripts/command-line.ts";
import { print, printJson } from "../../src/cli/terminal.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { siteAt, writeManySites, writeSiteFolder } from "../../testkit/many-sites.ts";
import { processorSeconds, residentBytes } from "../../testkit/process-use.ts";
import { Children, startServing } from "../../testkit/processes.ts";
import { formatTarget, type Target } from "../table.ts";

// `npm run bench:sites`: many sites in a folder against the same sites inline, and orders while files of sites change.

const usage = `npm run bench:sites -- [options]

Starts the built command with many sites, inline and in a folder in turn, with the image's options of Node. Then sends orders in an
open loop to the one with a folder: without a change, and while files of sites are rewritten. At last it changes secrets.

   --sites N         how many sites, 100 to 20000; default 10000
   --rounds N        how often each is started, 1 to 20; default 5
   --changes N       how many files are rewritten, 1 to 600; default 60
   --every-ms N      the time between two of them, 10 to 10000; default 150
   --json            one JSON document instead of lines
   --help            print this

Exit code 0: every target was reached. 1: one was missed. 2: the command line is wrong.`;

const readOptions = (args: readonly string[]) =>
  read(args, usage, {
    sites: wholeNumber(100, 20_000, 10_000),
    rounds: wholeNumber(1, 20, 5),
    changes: wholeNumber(1, 600, 60),
    everyMs: wholeNumber(10, 10_000, 150),
    json: flag,
  });

type Options = NonNullable<ReturnType<typeof readOptions>>;

/** The options of the image (docs/performance.md). */
const nodeArgs = ["--max-semi-space-size=4", ...(process.env["NODE_ARGS"]?.split(" ") ?? [])];
const ordersPerSecond = 100;
const secretChanges = 5;
const mebibyte = 1_048_576;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
process.exitCode = await runCommand(readOptions, usage, play);
process.exit();

async function play(options: Options): Promise<number> {
  const { sites, rounds, json } = options;
  const children = new Children();
  const service = createServer((request, response) => {
    request.resume();
    response.setHeader("Content-Type", "application/json").end('{"status":"ok"}');
  });
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  const { port } = service.address() as AddressInfo;
  const inlineFile = writeManySites(new ConfigWriter("sites-inline"), { sites, port });
  const folder = writeSiteFolder(new ConfigWriter("sites-folder"), { sites, port });
  let changesSeen = 0;
  const start = async (file: string) => {
    let url = "";
    const onLine = (line: string) => {
      if (line.includes('"event":"sites_changed"')) changesSeen += 1;
      if (line.includes('"event":"started"')) url = `http://${JSON.parse(line).routes[0].split(" ")[0]}`;
    };
    const { process: child } = await startServing({ children, writeConfig: () => file, onLine, nodeArgs });
    return { child, url, seconds: processorSeconds({ child }), mebibytes: residentBytes({ child }) / mebibyte };
  };
  const started: { inline: number[]; folder: number[]; inlineMiB: number[]; folderMiB: number[] } = {
    inline: [],
    folder: [],
    inlineMiB: [],
    folderMiB: [],
  };
  try {
    let serving = await start(folder.file);
    for (let round = 0; round < rounds; round += 1) {
      await serving.child.end("SIGTERM");
      const inline = await start(inlineFile);
      started.inline.push(inline.seconds);
      started.inlineMiB.push(inline.mebibytes);
      await inline.child.end("SIGTERM");
      serving = await start(folder.file);
      started.folder.push(serving.seconds);
      started.folderMiB.push(serving.mebibytes);
    }
    const { child, url } = serving;
    const lastsMs = options.changes * options.everyMs;
    await sendOrders(url, sites, 1_000);
    const quiet = await sendOrders(url, sites, lastsMs);
    const quietMiB = residentBytes({ child }) / mebibyte;
    const before = processorSeconds({ child });
    const busy = sendOrders(url, sites, lastsMs);
    let mostMiB = 0;
    for (let n = 0; n < options.changes; n += 1) {
      folder.write((n * 7_919) % sites, `decimals: [fee_${n}]\n`);
      await wait(options.everyMs);
      mostMiB = Math.max(mostMiB, residentBytes({ child }) / mebibyte);
    }
    const changing = await busy;
    const changeSeconds = processorSeconds({ child }) - before;
    await wait(2_000);
    const secretsMs: number[] = [];
    for (let n = 0; n < secretChanges; n += 1) {
      const seen = changesSeen;
      const sinceMs = performance.now();
      folder.renew((n * 977) % sites);
      while (changesSeen === seen && performance.now() - sinceMs < 30_000) await wait(5);
      secretsMs.push(performance.now() - sinceMs);
    }
    const ratio = median(started.folder) / median(started.inline);
    const figures = {
      started,
      quiet,
      quietMiB,
      changing,
      mostMiB,
      peakMiB: residentBytes({ child }, "VmHWM") / mebibyte,
      changeSeconds,
      secretsMs,
    };
    const targets: Target[] = [
      atMost("processor time of a start, against inline", ratio, 1.3, "×"),
      atMost("memory while files change", mostMiB, 150, "MiB"),
      atMost("the longest order while files change", changing.longestMs, 200, "ms"),
      atMost("a changed secret is in use", Math.max(...secretsMs), 2_000, "ms"),
    ];
    if (json) printJson({ ...options, figures, targets });
    else print([JSON.stringify(figures, round), "", ...targets.map(formatTarget)].join("\n"));
    return targets.every(({ isReached }) => isReached) ? 0 : 1;
  } finally {
    await children.endAll();
    service.close();
  }
}

function round(_: string, value: unknown): unknown {
  return typeof value === "number" ? Math.round(value * 100) / 100 : value;
}

function atMost(what: string, value: number, limit: number, unit: string): Target {
  return {
    what,
    wanted: `at most ${limit} ${unit}`,
    measured: `${value.toFixed(2)} ${unit}`,
    isReached: value <= limit,
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Orders of sites that sign, in an open loop. */
async function sendOrders(url: string, sites: number, lastsMs: number) {
  const pool = new Pool(url, { pipelining: 1 });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const latencies: number[] = [];
  let failed = 0;
  const send = async (n: number, plannedMs: number) => {
    const site = siteAt(sites / 2 + ((n * 31) % (sites / 2)));
    const { statusCode, body } = await pool.request({
      method: "POST",
      path: "/create_order",
      headers: { "content-type": "application/json", "countersign-site": site },
      body: '{"order_amount":"10.00"}',
    });
    await body.dump();
    if (statusCode === 200) latencies.push(performance.now() - plannedMs);
    else failed += 1;
  };
  const total = Math.floor((lastsMs * ordersPerSecond) / 1_000);
  const startedMs = performance.now();
  const all: Promise<void>[] = [];
  while (all.length < total) {
    for (;;) {
      const plannedMs = startedMs + (all.length * 1_000) / ordersPerSecond;
      if (plannedMs > performance.now() || all.length === total) break;
      all.push(send(all.length, plannedMs));
    }
    await wait(2);
  }
  await Promise.all(all);
  delay.disable();
  await pool.close();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1), failed, ownDelayMs: delay.max / 1e6 };
}
