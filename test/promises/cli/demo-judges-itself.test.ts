import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type Demo, openDemo } from "../../../simulator/src/demo/env.ts";
import { formatOpening } from "../../../simulator/src/demo/header.ts";
import { type Facts, judge } from "../../../simulator/src/demo/judge.ts";
import { formatScene } from "../../../simulator/src/demo/print.ts";
import { createRun } from "../../../simulator/src/demo/run.ts";
import { type Scene, scenes } from "../../../simulator/src/demo/scenes.ts";
import { secrets } from "../../../testkit/demo-run.ts";
import { listen } from "../../../testkit/listen.ts";

// The demo's `ok` is worth something only if it can be `not ok`: every fact counts, for every scene.

const [served = expect.unreachable()] = scenes.map(({ expected }) => expected);

const wrongs: readonly Partial<Facts>[] = [
  { status: undefined },
  { outcome: "unknown" },
  { error: "internal" },
  { attempts: 2 },
  { seen: 2 },
  { arrived: ["S1000000001 with token no. 2"] },
  { created: 0 },
  { unauthorized: 1 },
  { tokenRequests: 1 },
];

it.each(wrongs)("is not ok when one fact differs: %j", (wrong) => {
  expect(judge(served, served)).toEqual([]);
  expect(judge(served, { ...served, ...wrong })).toHaveLength(1);
  expect(judge({ ...served, ...wrong }, served)).toHaveLength(1);
});

it("knows every fact of every scene in advance", () => {
  expect(scenes).toHaveLength(7);
  for (const { expected } of scenes) expect(Object.keys(expected).sort()).toEqual(Object.keys(served).sort());
});

async function stageDemo(listener = 0): Promise<Demo> {
  const demo = await openDemo({ listener, admin: 0, status: 0, api: 0, login: 0 });
  onTestFinished(() => demo.close("test"));
  return demo;
}

it("lists the wrong facts, in the width of the terminal and without a secret", async () => {
  const demo = await stageDemo();
  const [first = expect.unreachable()] = scenes;
  const broken: Scene = { ...first, fault: { host: "api", kind: "answer", status: 500, body: "no JSON" } };
  const played = await createRun(demo)(broken, 1);
  expect(played.wrong).toEqual([
    "status: should be 200, is 500",
    'Countersign-Outcome: should be "answered", is "unknown"',
    "orders created: should be 1, is 0",
  ]);
  for (const width of [60, 80, 100]) {
    const lines = formatScene(played, width);
    expect(lines[0]).toMatch(/^1 {2}.+ not ok$/);
    expect(lines[0]).toHaveLength(width);
    expect(lines.filter((line) => line.length > width)).toEqual([]);
    expect(lines.filter((line) => line.trimStart().startsWith("wrong"))).toHaveLength(3);
    for (const secret of secrets) expect(lines.join("\n")).not.toMatch(secret);
  }
});

it("is not ok, and says so, when no answer comes at all", async () => {
  const demo = await stageDemo();
  const [first = expect.unreachable()] = scenes;
  const nobody = { ...demo, url: "http://127.0.0.1:1" };
  const played = await createRun(nobody)(first, 1);
  expect(played.wrong).toContain("status: should be 200, is absent");
  expect(formatScene(played, 80).join("\n")).toMatch(/back +no answer: connect ECONNREFUSED/);
});

it("uses a free port instead of one that is taken, and says so", async () => {
  const port = await listen(createServer());
  const demo = await stageDemo(port);
  expect(demo.url).not.toContain(`:${port}`);
  expect(formatOpening(demo)).toContainEqual(expect.stringMatching(`^ {3}taken +${port}; free ports stand in$`));
});
