/** deploy/image/healthcheck.c, compiled by this machine's compiler with the Dockerfile's options. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../testkit/free-port.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { isInstalled, plainEnvironment, runToEnd } from "../../../testkit/run-program.ts";

const hasCompiler = isInstalled("gcc", "--version");
const folder = mkdtempSync(join(tmpdir(), "countersign-healthcheck-"));
const program = join(folder, "healthcheck");
afterAll(() => rmSync(folder, { recursive: true }));

const name = hasCompiler ? "the image's health check" : "NOT TRIED, gcc is not installed: the image's health check";
describe.runIf(hasCompiler)(name, () => {
  beforeAll(() => {
    const [, options = ""] = /gcc (-Os [\s\S]+?)-o /.exec(readFileSync("Dockerfile", "utf8")) ?? [];
    const args = options.split(/[\s\\]+/).filter(Boolean);
    execFileSync("gcc", [...args, "-o", program, "deploy/image/healthcheck.c"], { stdio: "inherit" });
  });

  it.each([
    { host: "127.0.0.1", form: "127.0.0.1:" },
    { host: "127.0.0.1", form: "localhost:" },
    { host: "0.0.0.0", form: ":" },
    { host: "0.0.0.0", form: "0.0.0.0:" },
    { host: "::1", form: "[::1]:" },
    { host: "::", form: "[::]:" },
  ])("finds a server at $form, a form of admin.bind", async ({ host, form }) => {
    const { port, requests } = await serve({ host, port: 0 });
    const address = `${form}${port}`;
    expect(await check(address, "/livez")).toEqual({ exitCode: 0, stdout: `/livez at ${address}: 200\n`, stderr: "" });
    expect(requests).toEqual(["GET /livez localhost"]);
  });

  it("finds a server at a Unix socket, and fails with the server's status", async () => {
    const socket = join(folder, "admin.sock");
    await serve(socket);
    expect((await check(`unix:${socket}`, "/livez")).exitCode).toBe(0);
    const stderr = `/readyz at unix:${socket}: 503\n`;
    expect(await check(`unix:${socket}`, "/readyz")).toEqual({ exitCode: 1, stdout: "", stderr });
  });

  it.each([
    { what: "no HTTP", how: (socket: Socket) => socket.end("SSH-2.0-x\r\n"), says: "what came is not HTTP" },
    { what: "an answer that breaks off in the status", how: (socket: Socket) => socket.end("HTTP/1.1 2"), says: ": 2" },
    { what: "no answer", how: (socket: Socket) => socket.end(), says: "what came is not HTTP" },
    { what: "a reset", how: (socket: Socket) => socket.resetAndDestroy(), says: "Connection reset by peer" },
  ])("fails at $what", async ({ how, says }) => {
    const { exitCode, stdout, stderr } = await check(await answer(how), "/livez");
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(says);
  });

  it("gives up after 3 s on a server that sends nothing, or only a byte at intervals", async () => {
    const silent = await answer(() => {});
    const dripping = await answer((socket) => {
      const timer = setInterval(() => socket.write("H"), 100);
      socket.on("close", () => clearInterval(timer)).on("error", () => {});
    });
    const began = performance.now();
    const results = await Promise.all([silent, dripping].map((address) => check(address, "/livez")));
    expect(performance.now() - began).toBeGreaterThan(2_500);
    const says = (address: string) => `/livez at ${address}: no answer (none within 3 s).\n`;
    expect(results).toEqual([silent, dripping].map((address) => ({ exitCode: 1, stdout: "", stderr: says(address) })));
  });

  it("if nothing listens, says where it asked, and which variable to set", async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const stderr = `/livez at ${address}: no answer (Connection refused). If the server is elsewhere, set HEALTHCHECK_ADDRESS.\n`;
    expect(await check(address, "/livez")).toEqual({ exitCode: 1, stdout: "", stderr });
  });

  it.each([
    { what: "no path", address: ":7412", args: [], says: "Usage: healthcheck PATH" },
    { what: "two paths", address: ":7412", args: ["/livez", "/readyz"], says: "Usage: healthcheck PATH" },
    { what: "a path without a slash", address: ":7412", args: ["livez"], says: "Usage: healthcheck PATH" },
    { what: "a path too long", address: ":7412", args: [`/${"x".repeat(200)}`], says: "Usage: healthcheck PATH" },
    { what: "no address", address: undefined, args: ["/livez"], says: "Set HEALTHCHECK_ADDRESS" },
    { what: "an address too long", address: `${"x".repeat(300)}:1`, args: ["/livez"], says: "Set HEALTHCHECK_ADDRESS" },
    { what: "an address without a port", address: "127.0.0.1", args: ["/livez"], says: "Invalid argument" },
    { what: "a port without digits", address: "127.0.0.1:http", args: ["/livez"], says: "Cannot assign requested" },
    { what: "a socket too long", address: `unix:/${"x".repeat(150)}`, args: ["/livez"], says: "File name too long" },
  ])("refuses $what", async ({ address, args, says }) => {
    const { exitCode, stdout, stderr } = await check(address, ...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(says);
  });
});

async function check(address: string | undefined, ...args: readonly string[]) {
  return runToEnd(program, args, plainEnvironment(address === undefined ? {} : { HEALTHCHECK_ADDRESS: address }));
}

/** A server of Node's, like the admin port. It records its requests. */
async function serve(listenAt: string | { readonly host: string; readonly port: 0 }) {
  const requests: string[] = [];
  const server = createServer(({ method, url, headers }, response) => {
    requests.push(`${method} ${url} ${headers.host}`);
    response.writeHead(url === "/livez" ? 200 : 503).end("x".repeat(10_000));
  });
  onTestFinished(() => void server.close());
  server.listen(listenAt);
  await once(server, "listening");
  return { requests, port: (server.address() as AddressInfo).port };
}

/** A server that answers every complete request so. */
async function answer(how: (socket: Socket) => void): Promise<string> {
  return `127.0.0.1:${(await startRawUpstream({ answer: (_, socket) => how(socket) })).port}`;
}
