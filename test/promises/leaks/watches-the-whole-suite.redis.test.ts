/** For the whole suite: the watch sees every output, recognises a canary in every encoding, and forgives only its list. */
import { createHmac } from "node:crypto";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { call, get, order } from "../../../testkit/call.ts";
import { startCollector } from "../../../testkit/collector.ts";
import { canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { EventRecorder } from "../../../testkit/event-recorder.ts";
import { canariesIn } from "../../../testkit/leaks/canaries.ts";
import { lawful, unlawful } from "../../../testkit/leaks/lawful.ts";
import { folderVariable, type Outlet } from "../../../testkit/leaks/outflow.ts";
import { readSightings } from "../../../testkit/leaks/watch.ts";
import { ask, orderRaw, sendRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { openRedis } from "../../../testkit/redis.ts";
import { startProgram } from "../../../testkit/run-program.ts";

const secret = canaries.blue;
const signature = createHmac("sha256", "key").update("text").digest("hex");
const dresses: readonly (readonly [string, (text: string) => string])[] = [
  ["as it is", (text) => text],
  ["in a URL", (text) => encodeURIComponent(`${text}?&`)],
  ["in JSON", (text) => JSON.stringify({ text: `"${text}"\n` })],
  ["in hexadecimal digits", (text) => Buffer.from(text).toString("hex")],
  ["in capital hexadecimal digits", (text) => Buffer.from(text).toString("hex").toUpperCase()],
  ...["", "x", "xy"].flatMap((before) =>
    (["base64", "base64url"] as const).map(
      (way) =>
        [`in ${way} after ${before.length} bytes`, (text: string) => Buffer.from(before + text).toString(way)] as const,
    ),
  ),
];

describe.each(dresses)("%s", (_, dress) => {
  it.each([
    ["a made-up secret or value", secret],
    ["a made-up secret or value", order.site_customer_identifier],
    ["an amount", order.order_amount],
    ["a token", "token_1"],
    ["a token", "prefix-token_12"],
    ["a secret of the demo", "example-client-secret-own"],
  ])("%s is known", (_, text) => {
    expect([...canariesIn(`before ${dress(text)} behind`)]).toHaveLength(1);
  });
});

it("a signature and a key are recognised in hexadecimal digits and in base64", () => {
  expect([...canariesIn(`"signature":"${signature}"`)]).toEqual(["a signature or a key"]);
  expect([...canariesIn(tokenKey)]).toEqual(["the encryption key", "a signature or a key"]);
  for (const before of ["", "x", "xy"]) {
    const bytes = Buffer.concat([Buffer.from(before), Buffer.from(tokenKey, "hex")]);
    expect([...canariesIn(bytes.toString("base64"))]).toEqual(["the encryption key"]);
  }
});

describe("the watch sees", () => {
  let folder: string;

  beforeEach(() => {
    folder = emptyFolder();
    vi.stubEnv(folderVariable, folder);
    onTestFinished(() => void vi.unstubAllEnvs());
  });

  function expectSighting(...outlets: readonly Outlet[]) {
    const { sightings, heard } = readSightings(folder);
    expect(sightings.map(({ outlet }) => outlet).sort()).toEqual([...outlets].sort());
    for (const outlet of outlets) expect(heard).toContain(outlet);
    for (const { file, test } of sightings) {
      expect(file).toMatch(/watches-the-whole-suite\.redis\.test\.ts$/);
      expect(test).toBe(expect.getState().currentTestName);
    }
    expect(JSON.stringify(sightings)).not.toContain(secret);
  }

  it("the output of a program, in one piece or several, and its crash message", async () => {
    const script = `
      process.stdout.write("a line\\n" + ${JSON.stringify(secret.slice(0, 9))});
      setTimeout(() => process.stdout.write(${JSON.stringify(secret.slice(9))}), 50);
      setTimeout(() => { throw new Error(${JSON.stringify(secret)}) }, 100);`;
    const program = startProgram(process.execPath, ["--input-type=module", "-e", script]);
    expect(await program.ended).toBe(1);
    expectSighting("stdout", "stderr");
  });

  it("the facts of a proxy in this process, and its log lines", () => {
    new EventRecorder().report({ kind: "defect", where: "here", error: secret });
    expectSighting("event", "log line");
  });

  it("failure answers, but not answers of the service", async () => {
    const heads = ["", "Countersign-Error: internal\r\n"];
    const upstream = await startRawUpstream({
      answer: ({ number }, socket) => void socket.end(rawAnswer(500, secret, heads[number - 1])),
    });
    await call(upstream.url);
    expectSighting();
    await call(upstream.url);
    expectSighting("failure answer");
  });

  it.each([
    ["sendRaw", (port: number) => sendRaw(port, "GET / HTTP/1.1\r\n\r\n")],
    ["orderRaw", (port: number) => orderRaw(port)],
    ["ask", (port: number) => ask(port)],
  ])("failure answers on a raw connection: %s", async (_, send) => {
    const answer = rawAnswer(500, secret, "Countersign-Error: internal\r\n");
    const upstream = await startRawUpstream({ answer: (_, socket) => void socket.end(answer) });
    await send(upstream.port);
    expectSighting("failure answer");
  });

  it("the admin and status pages", async () => {
    const upstream = await startRawUpstream({ answer: (_, socket) => void socket.end(rawAnswer(200, secret)) });
    await get(upstream.url, "/status");
    expectSighting("admin or status page");
  });

  it("spans at a collector", async () => {
    const collector = await startCollector();
    collector.answer = (response) => void response.end();
    await fetch(collector.url, { method: "POST", body: secret });
    expectSighting("spans");
  });

  it("the content of Redis, except the names of our keys", async () => {
    const redis = await openRedis();
    await redis.command("SET", `countersign:2:{${signature}}:token`, "sealed");
    await redis.command("HSET", "other", "field", Buffer.from(secret).toString("base64"));
    await redis.end();
    expectSighting("Redis");
  });
});

it("the watch forgives the uses that its list names, and nothing else", () => {
  const [keygen] = lawful;
  const sighting = {
    outlet: "stdout",
    canary: "a signature or a key",
    file: "/x/test/promises/cli/keygen.test.ts",
    test: "",
  } as const;
  expect(keygen?.why).toMatch(/keygen/);
  expect(unlawful([sighting])).toEqual([]);
  const others = [
    { ...sighting, outlet: "stderr" as const },
    { ...sighting, canary: "a token" },
    { ...sighting, file: "/x/test/promises/cli/check.test.ts" },
  ];
  expect(unlawful(others)).toEqual(others);
});
