import { createServer } from "node:net";
import { expect, it } from "vitest";
import { listen } from "../../../testkit/listen.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";

// `countersign-simulator simulate` for programs: a line of JSON with the addresses, a line with the counts at the end.

function startSimulate(...args: string[]) {
  return startProgram(process.execPath, ["simulator/dist/main.js", "simulate", ...args], plainEnvironment());
}

it("says where it is, counts what it sees, and ends with the counts", async () => {
  const simulate = startSimulate("--json", "--api-port", "0", "--login-port", "0");
  const { baseUrl, authUrl } = JSON.parse(await simulate.line(() => true));
  expect((await fetch(`${baseUrl}/create_order`, { method: "POST", body: "{}" })).status).toBe(415);
  expect((await fetch(`${authUrl}/oauth/token`, { method: "POST", body: "{}" })).status).toBe(415);
  expect(await simulate.stop("SIGINT")).toBe(0);
  const lines = simulate.stdout().trimEnd().split("\n");
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ apiRequests: 1, refused: 1, tokenRequests: 1, tokensIssued: 0 });
});

it("names the port that it cannot have", async () => {
  const port = await listen(createServer());
  const simulate = startSimulate("--api-port", String(port), "--login-port", "0");
  expect(await simulate.ended).toBe(2);
  expect(simulate.stderr()).toBe(`The simulator cannot start: port ${port} is taken.\n`);
});

it.each([
  { args: ["--api-port", "65536"], says: "a port is at most 65535" },
  { args: ["--token-lifetime", "0", "--login-port", "0"], says: "a whole number of seconds above 0" },
])("refuses what makes no sense: $args", async ({ args, says }) => {
  const simulate = startSimulate(...args);
  expect(await simulate.ended).toBe(2);
  expect(simulate.stderr()).toContain(says);
});
