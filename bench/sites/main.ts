import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { Pool } from "undici";
import { flag, readOptions as read, runCommand, wholeNumber } from "../../scripts/command-line.ts";
import { print, printJson } from "../../src/cli/terminal.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { imageOptions, imageVariables } from "../../testkit/image-options.ts";
import { siteAt, writeManySites, writeSiteFolder } from "../../testkit/many-sites.ts";
import { processorSeconds, residentBytes } from "../../testkit/process-use.ts";
import { Children, startServing } from "../../testkit/processes.ts";
import { formatTarget, type Target } from "../table.ts";

// `npm run bench:sites`: many sites in a folder against the same sites inline, and orders while files of sites change.

const usage = `npm run bench:sites -- [options]

Starts the built command with many sites, inline and in a folder in turn, with the image's options of Node. Then sends 100
orders a second, in an open loop, to the one with a folder: without a change, and while files of sites are rewritten. In the
end it changes secrets.

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

/** As the image in a container of 256 MiB. */
const image = { nodeArgs: imageOptions(256 * 1_048_576), variables: imageVariables() };
const ordersPerSecond = 100;
const secretChanges = 5;
const longestTakeUpMs = 30_000;
const mebibyte = 1_048_576;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
process.exitCode = await runCommand(readOptions, usage, play);
process.exit();

async function play(options: Options): Promise<number> {
  const { sites, json } = options;
  const children = new Children();
  const service = createServer((request, response) => {
    request.resume();
    response.setHeader("Content-Type", "application/json").end('{"status":"ok"}');
  });
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  const { port } = service.address() as AddressInfo;
  const inlineFile = writeManySites(new ConfigWriter("sites-inline"), { sites, port });
  const folder = writeSiteFolder(new ConfigWriter("sites-folder"), { sites, port });
  try {
    const starts = await compareStarts(children, inlineFile, folder.file, options.rounds);
    const serving = await start(children, folder.file);
    const changes = await playChanges(serving, folder.write, options);
    const secretsMs = await playSecrets(serving, folder.renew, sites);
    const targets: Target[] = [
      atMost("processor time of a start, against inline", starts.folder.seconds / starts.inline.seconds, 1.3, "×"),
      atMost("memory while files change", changes.mostMiB, 150, "MiB"),
      atMost("the longest order while files change", changes.changing.longestMs, 200, "ms"),
      atMost("a changed secret is in use", Math.max(...secretsMs), 2_000, "ms"),
    ];
    const figures = { starts, ...changes, secretsMs };
    if (json) printJson({ ...options, figures, targets });
    else print([JSON.stringify(figures, shorten, 2), "", ...targets.map(formatTarget)].join("\n"));
    return targets.every(({ isReached }) => isReached) ? 0 : 1;
  } finally {
    await children.endAll();
    service.close();
  }
}

type Serving = Awaited<ReturnType<typeof start>>;

/** The built command, with its use of the machine once it serves. */
async function start(children: Children, file: string) {
  let url = "";
  let changes = 0;
  const onLine = (line: string) => {
    if (line.includes('"event":"sites_changed"')) changes += 1;
    if (line.includes('"event":"started"')) url = `http://${JSON.parse(line).routes[0].split(" ")[0]}`;
  };
  const { process: child } = await startServing({ children, writeConfig: () => file, onLine, ...image });
  const use = () => ({ seconds: processorSeconds({ child }), mebibytes: residentBytes({ child }) / mebibyte });
  return { child, url, use, started: use(), changes: () => changes };
}

/** Starts both in turn. @returns medians */
async function compareStarts(children: Children, inlineFile: string, folderFile: string, rounds: number) {
  const all = { inline: [] as Serving["started"][], folder: [] as Serving["started"][] };
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, file] of [["inline", inlineFile] as const, ["folder", folderFile] as const]) {
      const { child, started } = await start(children, file);
      all[name].push(started);
      await child.end("SIGTERM");
    }
  }
  const middle = (of: readonly Serving["started"][]) => ({
    seconds: median(of.map(({ seconds }) => seconds)),
    mebibytes: median(of.map(({ mebibytes }) => mebibytes)),
  });
  return { inline: middle(all.inline), folder: middle(all.folder) };
}

async function playChanges({ url, use }: Serving, write: (index: number, more: string) => void, options: Options) {
  const { sites, changes, everyMs } = options;
  const lastsMs = changes * everyMs;
  // Until code is compiled and connections are open.
  await sendOrders(url, sites, 1_000);
  const quiet = await sendOrders(url, sites, lastsMs);
  const before = use();
  const orders = sendOrders(url, sites, lastsMs);
  let mostMiB = 0;
  for (let n = 0; n < changes; n += 1) {
    write((n * 7_919) % sites, `decimals: [fee_${n}]\n`);
    await wait(everyMs);
    mostMiB = Math.max(mostMiB, use().mebibytes);
  }
  const changing = await orders;
  return { quiet, changing, quietMiB: before.mebibytes, mostMiB, seconds: use().seconds - before.seconds };
}

/** @returns how long each changed secret took to be in use */
async function playSecrets({ changes }: Serving, renew: (index: number) => void, sites: number): Promise<number[]> {
  const times: number[] = [];
  await wait(2_000);
  for (let n = 0; n < secretChanges; n += 1) {
    const seen = changes();
    const sinceMs = performance.now();
    renew((n * 977) % sites);
    while (changes() === seen && performance.now() - sinceMs < longestTakeUpMs) await wait(5);
    times.push(performance.now() - sinceMs);
  }
  return times;
}

/** Orders of sites that sign, in an open loop. */
async function sendOrders(url: string, sites: number, lastsMs: number) {
  const pool = new Pool(url, { pipelining: 1 });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const latencies: number[] = [];
  let failed = 0;
  const send = async (n: number, plannedMs: number) => {
    const { statusCode, body } = await pool.request({
      method: "POST",
      path: "/create_order",
      headers: {
        "content-type": "application/json",
        "countersign-site": siteAt(sites / 2 + ((n * 31) % Math.floor(sites / 2))),
      },
      body: '{"order_amount":"10.00"}',
    });
    await body.dump();
    if (statusCode === 200) latencies.push(performance.now() - plannedMs);
    else failed += 1;
  };
  const total = Math.floor((lastsMs * ordersPerSecond) / 1_000);
  const startedMs = performance.now();
  const plannedMs = (n: number) => startedMs + (n * 1_000) / ordersPerSecond;
  const all: Promise<void>[] = [];
  while (all.length < total) {
    while (all.length < total && plannedMs(all.length) <= performance.now()) {
      all.push(send(all.length, plannedMs(all.length)));
    }
    await wait(2);
  }
  await Promise.all(all);
  delay.disable();
  await pool.close();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1), failed, callerStoodStillMs: delay.max / 1e6 };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function atMost(what: string, value: number, limit: number, unit: string): Target {
  const measured = `${value.toFixed(2)} ${unit}`;
  return { what, wanted: `at most ${limit} ${unit}`, measured, isReached: value <= limit };
}

function shorten(_: string, value: unknown): unknown {
  return typeof value === "number" ? Math.round(value * 100) / 100 : value;
}
