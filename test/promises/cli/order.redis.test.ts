/** `countersign order` tells the story of one order, from the log, from Redis and from the status port. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { stageBothWays } from "../../../testkit/both-ways.ts";
import { call, order } from "../../../testkit/call.ts";
import { sites } from "../../../testkit/faults-configuration.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { canariesIn } from "../../../testkit/leaks/canaries.ts";
import { runCommand, runWithInput, startServe } from "../../../testkit/run-program.ts";

const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

/** `serve` in a process of its own, with a status port that the configuration names. */
async function stage() {
  const { file, folder, ...staged } = await stageBothWays();
  const statusPort = await freePort();
  const yaml = readFileSync(file, "utf8").replace(
    /status: \{ bind: "127.0.0.1:0" \}/,
    `status: { bind: "127.0.0.1:${statusPort}" }`,
  );
  folder.write("countersign.yaml", yaml);
  const serve = await startServe(file);
  const send = (key: string | undefined, reference: string, site: string = sites.hmac) =>
    call("http://localhost", order, {
      socketPath: staged.socketPath,
      headers: {
        ...(key === undefined ? {} : { "Countersign-Once": key }),
        "Countersign-Reference": reference,
        "Countersign-Site": site,
      },
    });
  const settling = `curl -sS -H 'Content-Type: application/json' -d '{"found":true}' 'http://127.0.0.1:${statusPort}/status/unknown/ID'`;
  /** Neither a value of a parameter nor a secret is told. */
  const told = ({ stdout, stderr, exitCode }: { stdout: string; stderr: string; exitCode: number | string }) => {
    expect([...canariesIn(stdout + stderr)]).toEqual([]);
    return { exitCode, stderr, lines: stdout.trimEnd().split("\n") };
  };
  return {
    ...{ ...staged, serve, send, settling },
    fromLog: (log: string, name: string, by = "--reference") => told(runWithInput(log, ["order", by, name])),
    ask: async (...args: readonly string[]) => told(await runCommand(["order", "--config", file, ...args])),
  };
}

it("tells each attempt, what was told, what stands in Redis, and what was settled", { timeout: 60_000 }, async () => {
  const { simulator, serve, send, settling, fromLog, ask } = await stage();
  simulator.faults.add({ host: "api", kind: "reset", when: "after_reading" });
  const first = await send("key-1", "cart-1");
  const requestId = String(first.headers["countersign-request-id"]);
  expect(await ask("--key", "key-1")).toEqual({
    exitCode: 0,
    stderr: "",
    lines: [
      expect.stringMatching(`^${time}  request ${requestId} claimed the key; its reference: cart-1$`),
      expect.stringMatching(
        `^${time}  request ${requestId}: create_order for S1000000003 ended unknown \\(upstream_reset\\): it may exist$`,
      ),
      expect.stringMatching(/^now {21} {2}Redis: the key is unknown \(upstream_reset\)$/),
      "",
      "Once you know, this settles it; false if there is no order:",
      `  ${settling.replace("ID", requestId)}`,
    ],
  });
  const typed = settling.replace("ID", requestId).replace('"found":true', '"found":true,"note":"number 17"');
  expect(spawnSync("sh", ["-c", typed], { encoding: "utf8" }).stdout).toContain('"found":true');
  const again = await send("key-1", "cart-1-again");
  expect(again.status).toBe(409);
  await send(undefined, "cart-2");
  await serve.nth("request_finished", 3);

  const later = await ask("--reference", "cart-1", "--key", "key-1");
  expect(later.lines.slice(2)).toEqual([
    expect.stringMatching(`^${time}  request ${requestId} was settled: found \\(number 17, its key is used\\)$`),
    expect.stringMatching(/Redis: the key is found \(upstream_reset, number 17\)$/),
  ]);

  const { exitCode, lines } = fromLog(
    `[pod/shop-1] no JSON\n${serve.stdout().replace(/^/gm, "[pod/shop-1] ")}`,
    "cart-1",
  );
  const repetition = again.headers["countersign-request-id"];
  expect({ exitCode, lines }).toEqual({
    exitCode: 0,
    lines: [
      expect.stringMatching(`^${time}  request ${requestId} came at unix:`),
      expect.stringMatching(
        `^${time}  request ${requestId} was told: create_order for S1000000003: 502 upstream_reset .*; its key keeps the result$`,
      ),
      expect.stringMatching(`^${time}  reference cart-1 was looked for: it was found \\(number 17\\)$`),
      expect.stringMatching(`^${time}  request ${repetition} came at unix:`),
      expect.stringMatching(
        `^${time}  request ${repetition} was told: .*409 already_sent.*; its key was used before \\(request ${requestId}\\)$`,
      ),
    ],
  });
  // An order without a reference has its request's id alone.
  expect(fromLog(serve.stdout(), requestId, "--request").lines).toEqual(lines);
  expect((await ask("--request", requestId)).lines.slice(0, 2)).toEqual([
    expect.stringMatching(`request ${requestId}: create_order for S1000000003 ended unknown`),
    expect.stringMatching(`request ${requestId} was settled: found`),
  ]);
  expect(fromLog(serve.stdout(), "cart-3")).toMatchObject({ exitCode: 1, lines: ["Nothing is known of it here."] });
  expect(fromLog(serve.stdout(), "cart-2").lines).toHaveLength(2);
  expect(fromLog("warn  create_order for S1: 502\n", "cart-1")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^No line is one of a request in JSON/),
  });
});

it("tells of the 401 between two attempts", { timeout: 60_000 }, async () => {
  const { simulator, serve, send, fromLog } = await stage();
  await send(undefined, "warm", sites.oauth);
  simulator.faults.add({ host: "api", kind: "answer", status: 401 });
  expect((await send(undefined, "cart-1", sites.oauth)).status).toBe(200);
  await serve.nth("request_finished", 2);
  expect(fromLog(serve.stdout(), "cart-1").lines).toEqual([
    expect.stringMatching(/ came at /),
    expect.stringMatching(/: the service, http:\/\/.*, answered 401 for S1000000001$/),
    expect.stringMatching(/: 200, answered, 2 attempts; without a once key$/),
  ]);
});

it("tells of a key that is free, and says what does not answer", { timeout: 60_000 }, async () => {
  const { serve, redis, ask } = await stage();
  expect(await ask("--key", "key-1")).toMatchObject({
    exitCode: 1,
    lines: ["Redis knows of no request with this key: one with it would be sent.", "Nothing is known of it here."],
  });
  expect(await ask("--reference", "cart-1")).toMatchObject({
    exitCode: 1,
    lines: [
      "Nothing is known of it here.",
      "Requests that were answered are not listed here: see the log, or their --key.",
    ],
  });
  await serve.stop();
  expect((await ask("--key", "key-1")).stderr).toMatch(
    /^serve gives no answer at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)\.\n$/,
  );
  await redis.kill();
  expect(await ask("--key", "key-1")).toMatchObject({
    exitCode: 1,
    stderr: `Redis at redis://127.0.0.1:${redis.port} does not answer (ECONNREFUSED): ask again, or ask doctor.\n`,
  });
});

it.each([
  [[], /Name the order by --reference, --request or --key/],
  [["--reference", ""], /Name the order by --reference, --request or --key/],
  [["--request", ""], /Name the order by --reference, --request or --key/],
  [["--key", "a"], /^countersign\.yaml.* cannot be read/],
] as const)("refuses %j", async (args, says) => {
  expect(await runCommand(["order", ...args])).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) });
});
