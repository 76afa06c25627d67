import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { versionOf } from "../../testkit/run-program.ts";

/** A client library as its users get it, run from a program that reads BASE_URL and COUNT. */
export interface Client {
  /** The name in the first column of docs/clients.md. */
  readonly name: string;
  /** The measured version; undefined if this machine lacks the library. */
  readonly version: string | undefined;
  /** Compiles the program at the first call. */
  readonly command: () => Command;
  /** A program of examples/, which says how each order ended; otherwise the library with its defaults, for comparison. */
  readonly isExample: boolean;
  /** The settings with which the program uses a proxy. */
  readonly proxySettings: (port: number) => ProxySettings;
}

type Command = readonly [program: string, ...args: string[]];

interface ProxySettings {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** The folder into which `scripts/client-programs.sh` puts its programs. */
const built = join(process.cwd(), ".tools/clients");
const jars = join(built, "java");
const apacheJars = join(built, "apache");
const rustProgram = join(built, "rust/debug/create-order");
const dotnetProgram = join(built, "dotnet/CreateOrder.dll");
const axios = "examples/node/node_modules/axios/package.json";
const asTheyAre = "test/clients/programs";

const environmentVariables = (port: number) => ({
  env: { http_proxy: `http://127.0.0.1:${port}`, HTTP_PROXY: `http://127.0.0.1:${port}` },
});
const javaProperties = (port: number) => ({ args: ["-Dhttp.proxyHost=127.0.0.1", `-Dhttp.proxyPort=${port}`] });
const [major = 0] = process.versions.node.split(".").map(Number);
const nodeVersion = `Node.js ${process.versions.node}`;

function named(name: string, version: string | undefined): string | undefined {
  return version === undefined ? undefined : `${name} ${version}`;
}

/** The version of a Python library, from our wheels or from the machine's Python. */
function askPython(library: string): string | undefined {
  const program = `import ${library}, platform; print(${library}.__version__, platform.python_version())`;
  const versions = versionOf(/^(\S+) (\S+)/, "env", `PYTHONPATH=${join(built, "python")}`, "python3", "-c", program);
  return versions === undefined ? undefined : `${library} ${versions.replace(" ", ", Python ")}`;
}

/** The version of a jar, and Java's. */
function askJar(jar: string, folder = jars): string | undefined {
  const file = existsSync(folder) ? readdirSync(folder).find((name) => /^(.+)-\d/.exec(name)?.[1] === jar) : undefined;
  return file && javaVersion && `${file.slice(jar.length + 1, -".jar".length)}, ${javaVersion}`;
}

function lockedVersion(crate: string): string | undefined {
  const lock = readFileSync("examples/rust/Cargo.lock", "utf8");
  return existsSync(rustProgram) ? new RegExp(`name = "${crate}"\nversion = "(.+)"`).exec(lock)?.[1] : undefined;
}

const javaVersion = named("Java", versionOf(/^javac (\S+)/, "javac", "--version"));
const goVersion = named("Go", versionOf(/go(\d\S+)/, "go", "version"));
const curlVersion = named("curl", versionOf(/^curl (\S+)/, "curl", "--version"));

const builds = new Map<string, string>();
afterAll(() => {
  for (const folder of builds.values()) rmSync(folder, { recursive: true });
  builds.clear();
});

/** Compiles once, into a new folder, which is removed after the test file. */
function build(source: string, compile: (folder: string) => void): string {
  const known = builds.get(source);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), "countersign-client-"));
  compile(folder);
  builds.set(source, folder);
  return folder;
}

function java(source: string, moreJars: readonly string[] = []): Command {
  const classPath = [jars, ...moreJars].map((folder) => `${folder}/*`).join(":");
  const folder = build(source, (into) =>
    execFileSync("javac", ["-cp", classPath, "-d", into, source], { stdio: "inherit" }),
  );
  const name = source.replace(/^.*\/(\w+)\.java$/, "$1");
  // For a short program that runs often, the second compiler does not pay.
  return ["java", "-XX:TieredStopAtLevel=1", "-cp", `${folder}:${classPath}`, name];
}

function withProperty(property: string, [program, ...args]: Command): Command {
  return [program, property, ...args];
}

function go(module: string): Command {
  const folder = build(module, (into) =>
    execFileSync("go", ["-C", module, "build", "-o", join(into, "program"), "."], { stdio: "inherit" }),
  );
  return [join(folder, "program")];
}

const python = (file: string) => ["env", `PYTHONPATH=${join(built, "python")}`, "python3", file] as const;

function example(
  name: string,
  version: string | undefined,
  command: Client["command"],
  proxySettings: Client["proxySettings"] = environmentVariables,
): Client {
  return { name, version, command, proxySettings, isExample: true };
}

function asItIs(...settings: Parameters<typeof example>): Client {
  return { ...example(...settings), isExample: false };
}

function exampleInJava(name: string, version: string | undefined, source: string): Client {
  return example(`Java, ${name}`, version, () => java(`examples/java/${source}.java`), javaProperties);
}

/** From Node.js 24 on, its fetch reads the proxy variables if an option says so. */
function fetchByProxyVariables(line: string, isThere: boolean): Client {
  return example(
    `${line}, fetch with NODE_USE_ENV_PROXY=1`,
    isThere ? nodeVersion : undefined,
    () => [process.execPath, "examples/node/with-fetch.mjs"],
    (port) => ({ env: { ...environmentVariables(port).env, NODE_USE_ENV_PROXY: "1" } }),
  );
}

export const clients: readonly Client[] = [
  example("curl", curlVersion, () => ["sh", "examples/curl/create-order.sh"]),
  example("Python, requests", askPython("requests"), () => python("examples/python/with_requests.py")),
  example("Python, httpx", askPython("httpx"), () => python("examples/python/with_httpx.py")),
  example("Node.js, fetch", nodeVersion, () => [process.execPath, "examples/node/with-fetch.mjs"]),
  fetchByProxyVariables("Node.js 24", major === 24),
  fetchByProxyVariables("Node.js 26", major >= 26),
  example("Node.js, axios", existsSync(axios) ? `axios ${versionIn(axios)}, ${nodeVersion}` : undefined, () => [
    process.execPath,
    "examples/node/with-axios.mjs",
  ]),
  exampleInJava("HttpClient", javaVersion, "WithHttpClient"),
  exampleInJava("OkHttp", named("OkHttp", askJar("okhttp-jvm")), "WithOkHttp"),
  exampleInJava("Spring RestClient", named("Spring", askJar("spring-web")), "WithRestClient"),
  example("Go, net/http", goVersion, () => go("examples/go")),
  example(".NET, HttpClient", dotnetVersion(), () => ["dotnet", dotnetProgram]),
  example("PHP, curl", phpVersion(), () => ["php", "examples/php/create-order.php"]),
  example("Ruby, Net::HTTP", named("Ruby", versionOf(/^ruby (\d+\.\d+\.\d+)/, "ruby", "--version")), () => [
    "ruby",
    "examples/ruby/create_order.rb",
  ]),
  example("Rust, reqwest", named("reqwest", lockedVersion("reqwest")), () => [rustProgram]),
  asItIs("one curl for several orders", curlVersion, () => ["sh", `${asTheyAre}/one-curl.sh`]),
  asItIs("PHP's curl with `CURLOPT_POSTFIELDS`", phpVersion(), () => ["php", `${asTheyAre}/postfields.php`]),
  asItIs("Java's HttpClient as it is", javaVersion, () => java(`${asTheyAre}/DefaultClient.java`)),
  asItIs("Java's HttpClient with `jdk.httpclient.enableAllMethodRetry`", javaVersion, () =>
    withProperty("-Djdk.httpclient.enableAllMethodRetry=true", java("examples/java/WithHttpClient.java")),
  ),
  asItIs("Java's HttpURLConnection as it is", javaVersion, () => java(`${asTheyAre}/DefaultUrlConnection.java`)),
  asItIs("Java's HttpURLConnection with `sun.net.http.retryPost=false`", javaVersion, () =>
    withProperty("-Dsun.net.http.retryPost=false", java(`${asTheyAre}/DefaultUrlConnection.java`)),
  ),
  asItIs("OkHttp as it is", named("OkHttp", askJar("okhttp-jvm")), () => java(`${asTheyAre}/DefaultOkHttp.java`)),
  asItIs(
    "RestClient as it is, with Apache HttpClient 5 there",
    named("Apache HttpClient", askJar("httpclient5", apacheJars)),
    () => java(`${asTheyAre}/DefaultApache.java`, [apacheJars]),
  ),
  asItIs("Go with an `Idempotency-Key` header", goVersion, () => go(`${asTheyAre}/idempotency-key`)),
];

function versionIn(packageFile: string): string {
  return JSON.parse(readFileSync(packageFile, "utf8")).version;
}

function dotnetVersion(): string | undefined {
  const runtime = versionOf(/Microsoft\.NETCore\.App (\S+)/, "dotnet", "--list-runtimes");
  return existsSync(dotnetProgram) ? named(".NET", runtime) : undefined;
}

function phpVersion(): string | undefined {
  const program = 'extension_loaded("curl") || exit(1); echo PHP_VERSION, ", libcurl ", curl_version()["version"];';
  return named("PHP", versionOf(/^(.+)/, "php", "-r", program));
}
