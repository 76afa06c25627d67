/** Row 69: with room for few descriptors only, orders are answered or refused, none is half done, and the start says what is missing. */
import { expect, it } from "vitest";
import { neededDescriptors, readDescriptorLimit } from "../../src/app/process-limits.ts";
import { bundle } from "../../testkit/bundle.ts";
import { call } from "../../testkit/call.ts";
import { freePort } from "../../testkit/free-port.ts";
import { rawAnswer, startRawUpstream } from "../../testkit/raw-upstream.ts";
import { type Program, startProgram } from "../../testkit/run-program.ts";
import { writeServed } from "../load/served.ts";

const descriptors = 64;
const orders = 200;
const rounds = 3;

/** Node raises the soft limit by itself, so both are set. */
function startWithFew(main: string, file: string): Program {
  const line = `ulimit -n ${descriptors}; exec "$0" "$1" serve --config "$2"`;
  return startProgram("sh", ["-c", line, process.execPath, main, file]);
}

it.skipIf(process.platform !== "linux")(
  "answers, refuses and recovers, and says at its start what is missing",
  async () => {
    const bytes = rawAnswer(200, '{"order_id":"order_1"}');
    const upstream = await startRawUpstream({ answer: (_, socket) => void setTimeout(() => socket.write(bytes), 100) });
    const port = await freePort();
    const file = writeServed(upstream.url, `127.0.0.1:${port}`, "");
    const program = startWithFew(bundle(), file);
    await program.line((line) => line.includes('"event":"started"'));
    expect(program.stdout()).toMatch(/"message":"the process may open 64 descriptors and the limits need 1536: /);
    // A crowd that takes every descriptor before there is a connection to the service is refused as a whole.
    expect((await call(`http://127.0.0.1:${port}`)).status).toBe(200);
    let answered = 1;
    for (let round = 1; round <= rounds; round++) {
      const send = () => call(`http://127.0.0.1:${port}`).catch(() => undefined);
      const answers = await Promise.all(Array.from({ length: orders }, send));
      const served = answers.filter((answer) => answer?.status === 200).length;
      const refused = answers.filter((answer) => answer !== undefined && answer.status !== 200);
      expect(served).toBeGreaterThan(0);
      expect(served).toBeLessThan(orders);
      for (const answer of refused) expect(answer?.json).toMatchObject({ outcome: "not_sent" });
      answered += served;
      expect(upstream.requests).toHaveLength(answered);
      // As soon as the crowd has gone, all is well.
      await expect.poll(() => call(`http://127.0.0.1:${port}`).then(({ status }) => status, String)).toBe(200);
      answered = upstream.requests.length;
    }
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(0);
    expect(program.stderr()).toBe("");
  },
  60_000,
);

/** Newer versions open the files of a program one after another. */
const opensAllAtOnce = process.platform === "linux" && Number.parseInt(process.versions.node, 10) < 22;

it.runIf(opensAllAtOnce)("says so in one line where not even its own files can be opened", async () => {
  const program = startWithFew("dist/unbundled.js", "nothing.yaml");
  expect(await program.ended).toBe(2);
  expect(program.stderr()).toBe(
    "Countersign cannot start: it may open too few files. Raise ulimit -n, to 1024 at least.\n",
  );
});

it("counts what the limits need, and reads what there is", () => {
  const limits = { connections: 1_024, inFlightPerEnvironment: 256, bodyBytes: 1 };
  const config = { listeners: [{}, {}], environments: new Map([["a", {}]]), limits } as unknown as Parameters<
    typeof neededDescriptors
  >[0];
  expect(neededDescriptors(config)).toBe(2 * 1_024 + 256 + 256);
  expect(readDescriptorLimit("Max open files            64                   128                  files\n")).toBe(64);
  expect(readDescriptorLimit("Max open files            unlimited            unlimited            files\n")).toBe(
    undefined,
  );
  expect(readDescriptorLimit("")).toBe(undefined);
});
