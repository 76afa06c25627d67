import { expect, it } from "vitest";
import { plainEnvironment, startProgram } from "../../testkit/run-program.ts";

/** More than the ports of one process, so that its first ports come again. */
const draws = 1_500;
const program = `
import { freePort } from "./testkit/free-port.ts";
const ports = new Set();
for (let n = 0; n < ${draws}; n++) ports.add(await freePort());
console.log(JSON.stringify([...ports]));
setInterval(() => {}, 60_000);
`;

async function drawAll(): Promise<readonly number[]> {
  const args = ["--import", "tsx", "--input-type=module", "--eval", program];
  const line = await startProgram(process.execPath, args, plainEnvironment({ VITEST_POOL_ID: "1" })).line(() => true);
  return JSON.parse(line);
}

it("gives no port to two processes, such as the first workers of two runs", async () => {
  const [one, other] = await Promise.all([drawAll(), drawAll()]);
  expect(one.length).toBeGreaterThan(300);
  expect(one.filter((port) => other.includes(port))).toEqual([]);
});
