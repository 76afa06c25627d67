import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled } from "../../testkit/run-program.ts";

/** A client library as its users find it, run from a program that reads BASE_URL and COUNT. */
export interface Client {
  /** As the first column of docs/clients.md names it. */
  readonly name: string;
  readonly isThere: boolean;
  /** Built when it is first asked for. */
  readonly command: () => readonly [program: string, ...args: string[]];
  /** Connections that 100 calls by the base URL open. */
  readonly connections: number;
  /** What makes it use a proxy; empty where nothing that a test can set does. */
  readonly proxySettings: (port: number) => {
    readonly env?: Readonly<Record<string, string>>;
    readonly args?: readonly string[];
  };
  /** With a proxy set, a call of an http:// URL goes: through it (absolute form), past it, or into a tunnel (CONNECT). */
  readonly withProxy: "through" | "past" | "tunnel";
  /** With a proxy set, a call of a loopback URL goes the same three ways. */
  readonly loopbackWithProxy: "through" | "past" | "tunnel";
}

const [major = 0] = process.versions.node.split(".").map(Number);
const javaIsThere = isInstalled("java", "--source", "11", "--version");
const environmentVariables = (port: number) => ({
  env: { http_proxy: `http://127.0.0.1:${port}`, HTTP_PROXY: `http://127.0.0.1:${port}` },
});
const javaProperties = (port: number) => ({ args: ["-Dhttp.proxyHost=127.0.0.1", `-Dhttp.proxyPort=${port}`] });

let goProgram: string | undefined;
function buildGo(): string {
  if (goProgram === undefined) {
    goProgram = join(mkdtempSync(join(tmpdir(), "countersign-go-")), "create_order");
    execFileSync("go", ["build", "-o", goProgram, "examples/go/create_order.go"], { stdio: "inherit" });
  }
  return goProgram;
}

export const clients: readonly Client[] = [
  {
    name: "curl",
    isThere: isInstalled("curl", "--version"),
    command: () => ["sh", "examples/curl/create-order.sh"],
    connections: 1,
    proxySettings: environmentVariables,
    withProxy: "through",
    loopbackWithProxy: "through",
  },
  {
    name: "Python, requests",
    isThere: isInstalled("python3", "-c", "import requests"),
    command: () => ["python3", "examples/python/create_order.py"],
    connections: 1,
    proxySettings: environmentVariables,
    withProxy: "through",
    loopbackWithProxy: "through",
  },
  {
    name: "Node.js, fetch",
    isThere: true,
    command: () => [process.execPath, "examples/node/create-order.mjs"],
    connections: 2,
    proxySettings: environmentVariables,
    withProxy: "past",
    loopbackWithProxy: "past",
  },
  {
    name: "Node.js 24, fetch with NODE_USE_ENV_PROXY=1",
    isThere: major >= 24,
    command: () => [process.execPath, "examples/node/create-order.mjs"],
    connections: 2,
    proxySettings: (port) => ({ env: { ...environmentVariables(port).env, NODE_USE_ENV_PROXY: "1" } }),
    withProxy: "tunnel",
    loopbackWithProxy: "tunnel",
  },
  {
    name: "Java, HttpClient with HTTP_1_1",
    isThere: javaIsThere,
    command: () => ["java", "examples/java/CreateOrder.java"],
    connections: 1,
    proxySettings: javaProperties,
    withProxy: "through",
    loopbackWithProxy: "past",
  },
  {
    name: "Java, HttpClient as it is",
    isThere: javaIsThere,
    command: () => ["java", "test/clients/programs/DefaultClient.java"],
    connections: 100,
    proxySettings: javaProperties,
    withProxy: "through",
    loopbackWithProxy: "past",
  },
  {
    name: "Go, net/http",
    isThere: isInstalled("go", "version"),
    command: () => [buildGo()],
    connections: 1,
    proxySettings: environmentVariables,
    withProxy: "through",
    loopbackWithProxy: "past",
  },
];
