import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll } from "vitest";
import { versionOf } from "../../testkit/run-program.ts";

/** A library of a language, with the programs that use it. Each reads BASE_URL and COUNT, and prints a line for each answer. */
export interface Client {
  /** The language and the library, as in the first column of docs/clients.md. */
  readonly name: string;
  /** The measured version; undefined if this machine lacks the library. */
  readonly version: string | undefined;
  /** The program of test/clients/programs. It also reads HEADER, the name of a header that it sends with each order, and SET. */
  readonly source: string;
  /** Compiles the program at the first call. Undefined if this machine lacks what the program needs. */
  readonly plain: (() => Command) | undefined;
  /** What stops the library from sending an order again, as far as anything does. */
  readonly setting: Setting | undefined;
  /** The settings with which the program uses a proxy. */
  readonly proxySettings: (port: number) => ProxySettings;
}

export interface Setting {
  /** In Markdown; what is code in it stands in the source. */
  readonly text: string;
  readonly source: string;
  readonly command: (() => Command) | undefined;
  /** A program of examples/, which says how each order ended. Otherwise the program itself, with SET. */
  readonly isExample: boolean;
}

export type Command = readonly [program: string, ...args: string[]];

interface ProxySettings {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

interface Choice {
  readonly setting?: string;
  /** The example that has the setting, below examples/. */
  readonly example?: string;
  /** The folders of jars that the program needs; or the arguments of the program. */
  readonly jars?: readonly string[];
  readonly args?: readonly string[];
  readonly proxySettings?: Client["proxySettings"];
  /** Whether what the program needs is there, if the library is. */
  readonly isBuilt?: boolean;
}

/** The folder into which `scripts/client-programs.sh` puts its programs. */
const built = join(process.cwd(), ".tools/clients");
const programs = "test/clients/programs";
const exampleCrate = "examples/rust/src/main.rs";

const environmentVariables = (port: number) => ({
  env: { http_proxy: `http://127.0.0.1:${port}`, HTTP_PROXY: `http://127.0.0.1:${port}` },
});
const javaProperties = (port: number) => ({ args: ["-Dhttp.proxyHost=127.0.0.1", `-Dhttp.proxyPort=${port}`] });

const builds = new Map<string, string>();
afterAll(() => {
  for (const folder of builds.values()) rmSync(folder, { recursive: true });
  builds.clear();
});

/** Compiles once, into a new folder, which is removed after the test file. */
function build(source: string, compile: (folder: string) => readonly string[]): string {
  const known = builds.get(source);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), "countersign-client-"));
  builds.set(source, folder);
  const [compiler = "", ...args] = compile(folder);
  execFileSync(compiler, args, { stdio: ["ignore", "ignore", "inherit"] });
  return folder;
}

function compiled(source: string, compile: (program: string, folder: string) => readonly string[]): Command {
  return [
    join(
      build(source, (folder) => compile(join(folder, "program"), folder)),
      "program",
    ),
  ];
}

function java(source: string, folders: readonly string[] = ["java"]): Command {
  const classPath = folders.map((folder) => `${join(built, folder)}/*`).join(":");
  const folder = build(`${source} ${folders}`, (into) => [
    "javac",
    "-nowarn",
    "-cp",
    classPath,
    "-sourcepath",
    dirname(source),
    "-d",
    into,
    source,
  ]);
  // For a short program that runs often, the second compiler does not pay.
  return ["java", "-XX:TieredStopAtLevel=1", "-cp", `${folder}:${classPath}`, basename(source, ".java")];
}

/** How to run a program, by the ending of its name. */
const runners: Readonly<Record<string, (source: string, choice: Choice) => Command>> = {
  sh: (source) => ["sh", source],
  py: (source) => ["env", `PYTHONPATH=${join(built, "python")}:${join(built, "more-python")}`, "python3", source],
  mjs: (source) => [process.execPath, source],
  java: (source, { jars }) => java(source, jars),
  go: (source, { args = [] }) => {
    const [folder = ""] = [dirname(source)];
    const module = existsSync(join(folder, "go.mod")) ? folder : dirname(folder);
    const [program] = compiled(folder, (into) => [
      "go",
      "-C",
      module,
      "build",
      "-o",
      into,
      `./${folder.slice(module.length + 1)}`,
    ]);
    return [program, ...args];
  },
  cs: () => ["dotnet", join(built, "dotnet/CreateOrder.dll")],
  php: (source) => ["php", source],
  rb: (source) => ["ruby", source],
  rs: (source) => [source === exampleCrate ? rustProgram : join(built, "more-rust/debug", basename(source, ".rs"))],
  pl: (source) => (source.includes("/prolog/") ? ["swipl", source] : ["perl", "-I", dirname(source), source]),
  lua: (source) => ["lua", source],
  tcl: (source) => ["tclsh", source],
  R: (source) => ["Rscript", "--vanilla", source],
  hs: (source) => compiled(source, (into, folder) => ["ghc", "-O0", "-outputdir", folder, "-o", into, source]),
  el: (source) => ["emacs", "--batch", "-Q", "--load", source],
  scm: (source) => ["guile", "--no-auto-compile", source],
  escript: (source) => ["escript", source],
  exs: (source) => ["elixir", source],
  nim: (source) =>
    compiled(source, (into, folder) => ["nim", "c", "--hints:off", `--nimcache:${folder}/c`, `-o:${into}`, source]),
  cr: (source) => compiled(source, (into) => ["crystal", "build", "--no-color", "-o", into, source]),
};

function run(source: string, choice: Choice): Command {
  const runner = runners[source.slice(source.lastIndexOf(".") + 1)];
  if (runner === undefined) throw new Error(`no one runs ${source}`);
  return runner(source, choice);
}

function client(name: string, version: string | undefined, file: string, choice: Choice = {}): Client {
  const own = join(programs, file);
  const { setting: text, example, isBuilt = true, proxySettings } = choice;
  const source = existsSync(own) || example === undefined ? own : join("examples", example);
  const plain = version !== undefined && isBuilt && existsSync(own) ? () => run(source, choice) : undefined;
  const place = example === undefined ? source : join("examples", example);
  const command = example === undefined ? plain : version && (() => run(place, { ...choice, jars: ["java"] }));
  const setting = text === undefined ? undefined : { text, source: place, command: command || undefined };
  return {
    name,
    version,
    source,
    plain,
    setting: setting && { ...setting, isExample: example !== undefined },
    proxySettings: proxySettings ?? (file.endsWith(".java") ? javaProperties : environmentVariables),
  };
}

function named(name: string, version: string | undefined): string | undefined {
  return version === undefined ? undefined : `${name} ${version}`;
}

/** The packages of Debian on this machine, with the versions of what is in them. */
const debian = new Map(
  (versionOf(/^(.+)/s, "dpkg-query", "--show", "--showformat=$" + "{Package} $" + "{Version}\\n") ?? "")
    .split("\n")
    .map((line) => /^(\S+) (?:\d+:)?([^-+]+)/.exec(line)?.slice(1) as [string, string])
    .filter((found) => found),
);

function packaged(name: string, debianPackage: string): string | undefined {
  return named(name, debian.get(debianPackage));
}

const pythonVersions = askPython("requests", "httpx", "urllib3", "aiohttp", "niquests", "pycurl", "httplib2");

/** The versions of Python's libraries, from our wheels or from the machine's Python; and Python's own. */
function askPython(...libraries: readonly string[]): Readonly<Record<string, string | undefined>> {
  const program = `import importlib.metadata as m, json, platform
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
print(json.dumps({"python": platform.python_version(), **{name: version(name) for name in ${JSON.stringify(libraries)}}}))`;
  const [command, ...args] = runners["py"]?.("-c", {}) ?? ["python3"];
  return JSON.parse(versionOf(/^(.+)/, command, ...args, program) ?? "{}");
}

function python(library: string): string | undefined {
  const version = pythonVersions[library];
  return version && `${library} ${version}, Python ${pythonVersions["python"]}`;
}

const [major = 0] = process.versions.node.split(".").map(Number);
const nodeVersion = `Node.js ${process.versions.node}`;

function npm(library: string, folder = `${programs}/node`): string | undefined {
  const file = `${folder}/node_modules/${library}/package.json`;
  return existsSync(file) ? `${library} ${JSON.parse(readFileSync(file, "utf8")).version}, ${nodeVersion}` : undefined;
}

/** The version of a jar, and Java's. */
function jar(name: string, prefix: string, folder = "java"): string | undefined {
  const files = existsSync(join(built, folder)) ? readdirSync(join(built, folder)) : [];
  const file = files.find((found) => /^(.+?)-\d/.exec(found)?.[1] === prefix);
  return file && javaVersion && `${name} ${file.slice(prefix.length + 1, -".jar".length)}, ${javaVersion}`;
}

const rustProgram = join(built, "rust/debug/create-order");
const moreRust = existsSync(join(built, "more-rust/debug/ureq"));

function crate(name: string, folder: string): string | undefined {
  const version = new RegExp(`name = "${name}"\nversion = "(.+)"`).exec(readFileSync(`${folder}/Cargo.lock`, "utf8"));
  return named(name, version?.[1]);
}

function goModule(name: string): string | undefined {
  const version = new RegExp(`/${name}(?:/v\\d+)? v(\\S+)`).exec(
    readFileSync(`${programs}/go/more/go.mod`, "utf8"),
  )?.[1];
  return hasGoModules ? withLanguage(named(name, version), goVersion) : undefined;
}

function phpVersion(): string | undefined {
  const program = 'extension_loaded("curl") || exit(1); echo PHP_VERSION, ", libcurl ", curl_version()["version"];';
  return named("PHP", versionOf(/^(.+)/, "php", "-r", program));
}

function dotnetVersion(): string | undefined {
  const runtime = versionOf(/Microsoft\.NETCore\.App (\S+)/, "dotnet", "--list-runtimes");
  return existsSync(join(built, "dotnet/CreateOrder.dll")) ? named(".NET", runtime) : undefined;
}

const javaVersion = named("Java", versionOf(/^javac (\S+)/, "javac", "--version"));
const goVersion = named("Go", versionOf(/go(\d\S+)/, "go", "version"));
/** `scripts/client-programs.sh all` fetches them. */
const hasGoModules = existsSync(join(built, "more-go"));
const curlVersion = named("curl", versionOf(/^curl (\S+)/, "curl", "--version"));
const rubyVersion = named("Ruby", versionOf(/^ruby (\d+\.\d+\.\d+)/, "ruby", "--version"));
const ruby = (name: string, debianPackage: string) => withLanguage(packaged(name, debianPackage), rubyVersion);
const perlVersion = packaged("Perl", "perl");
const perl = (name: string, debianPackage: string) => withLanguage(packaged(name, debianPackage), perlVersion);

function withLanguage(library: string | undefined, language: string | undefined): string | undefined {
  return library && language && `${library}, ${language}`;
}

/** From Node.js 24 on, its fetch reads the proxy variables if an option says so. */
function fetchByProxyVariables(line: string, isThere: boolean): Client {
  return client(`${line}, fetch with NODE_USE_ENV_PROXY=1`, isThere ? nodeVersion : undefined, "node/with-fetch.mjs", {
    ...withFetch,
    proxySettings: (port) => ({ env: { ...environmentVariables(port).env, NODE_USE_ENV_PROXY: "1" } }),
  });
}

const withFetch = { setting: '`redirect: "manual"`', example: "node/with-fetch.mjs" };

/** In the order of the page: the most used languages first. */
export const clients: readonly Client[] = [
  client("curl, one call for several orders", curlVersion, "shell/one_curl.sh", {
    setting: "one call for each order",
    example: "curl/create-order.sh",
  }),
  client("wget", packaged("wget", "wget"), "shell/wget.sh", { setting: "`--tries=1 --max-redirect=0`" }),
  client("Python, requests", python("requests"), "python/with_requests.py", {
    setting: "`allow_redirects=False`",
    example: "python/with_requests.py",
  }),
  client("Python, httpx", python("httpx"), "python/with_httpx.py", {
    setting: "its defaults",
    example: "python/with_httpx.py",
  }),
  client("Python, urllib3", python("urllib3"), "python/with_urllib3.py", { setting: "`redirect=False`" }),
  client("Python, urllib.request", named("Python", pythonVersions["python"]), "python/with_urllib.py"),
  client("Python, aiohttp", python("aiohttp"), "python/with_aiohttp.py", { setting: "`allow_redirects=False`" }),
  client("Python, niquests", python("niquests"), "python/with_niquests.py", { setting: "`allow_redirects=False`" }),
  client("Python, pycurl", python("pycurl"), "python/with_pycurl.py", { setting: "`pycurl.FORBID_REUSE, 1`" }),
  client("Python, httplib2", python("httplib2"), "python/with_httplib2.py"),
  client("Node.js, fetch", nodeVersion, "node/with-fetch.mjs", withFetch),
  fetchByProxyVariables("Node.js 24", major === 24),
  fetchByProxyVariables("Node.js 26", major >= 26),
  client("Node.js, http", nodeVersion, "node/with-http.mjs"),
  client("Node.js, undici", npm("undici"), "node/with-undici.mjs"),
  client("Node.js, axios", npm("axios", "examples/node"), "node/with-axios.mjs", {
    setting: "`maxRedirects: 0`",
    example: "node/with-axios.mjs",
    isBuilt: npm("axios") !== undefined,
  }),
  client("Node.js, got", npm("got"), "node/with-got.mjs", { setting: "`followRedirect: false`" }),
  client("Node.js, ky", npm("ky"), "node/with-ky.mjs", { setting: '`redirect: "manual"`' }),
  client("Node.js, superagent", npm("superagent"), "node/with-superagent.mjs", { setting: "`redirects(0)`" }),
  client("Node.js, needle", npm("needle"), "node/with-needle.mjs"),
  client("Java, HttpClient", javaVersion, "java/DefaultClient.java", { example: "java/WithHttpClient.java" }),
  client("Java, HttpURLConnection", javaVersion, "java/DefaultUrlConnection.java", {
    setting: '`"sun.net.http.retryPost", "false"`, `setFollowRedirects(false)`',
  }),
  client("Java, OkHttp", jar("OkHttp", "okhttp-jvm"), "java/DefaultOkHttp.java", {
    setting: "`retryOnConnectionFailure(false)`, `followRedirects(false)`, a body that is `oneShot`",
    example: "java/WithOkHttp.java",
  }),
  client("Java, Spring RestClient", jar("Spring", "spring-web"), "java/DefaultRestClient.java", {
    setting: "a request factory by name",
    example: "java/WithRestClient.java",
  }),
  client(
    "Java, Spring RestClient with Apache's on the class path",
    jar("Apache HttpClient", "httpclient5", "apache"),
    "java/DefaultRestClient.java",
    {
      jars: ["java", "apache"],
    },
  ),
  client("Java, Apache HttpClient", jar("Apache HttpClient", "httpclient5", "apache"), "java/WithApache.java", {
    jars: ["apache"],
    setting: "`disableAutomaticRetries()`, `disableRedirectHandling()`",
  }),
  client("Java, Jetty", jar("Jetty", "jetty-client", "java-more"), "java/WithJetty.java", {
    jars: ["java-more"],
    setting: "`setFollowRedirects(false)`",
  }),
  client("Java, Vert.x", jar("Vert.x", "vertx-web-client", "java-more"), "java/WithVertx.java", {
    jars: ["java-more"],
    setting: "`setFollowRedirects(false)`",
  }),
  client(
    "Java, AsyncHttpClient",
    jar("AsyncHttpClient", "async-http-client", "java-async-http-client"),
    "java/WithAsyncHttpClient.java",
    {
      jars: ["java-async-http-client"],
      setting: "`setMaxRequestRetry(0)`",
    },
  ),
  client("Go, net/http", goVersion, "go/nethttp/main.go", {
    setting: "`CheckRedirect` with `ErrUseLastResponse`",
    example: "go/create_order.go",
  }),
  client("Go, resty", goModule("resty"), "go/more/main.go", {
    args: ["resty"],
    setting: "`resty.NoRedirectPolicy()`",
  }),
  client("Go, go-retryablehttp", goModule("go-retryablehttp"), "go/more/main.go", {
    args: ["retryable"],
    setting: "`RetryMax = 0`, `CheckRedirect` with `ErrUseLastResponse`",
  }),
  client("Go, fasthttp", goModule("fasthttp"), "go/more/main.go", { args: ["fasthttp"] }),
  client(".NET, HttpClient", dotnetVersion(), "dotnet/Program.cs", {
    setting: "`AllowAutoRedirect = false`",
    example: "dotnet/Program.cs",
  }),
  client("PHP, curl", phpVersion(), "php/curl.php", {
    setting: "the body by `CURLOPT_READFUNCTION`",
    example: "php/create-order.php",
  }),
  client("PHP, streams", packaged("PHP", "php8.2-cli"), "php/streams.php", { setting: "`'follow_location' => 0`" }),
  client("PHP, Guzzle", withLanguage(packaged("Guzzle", "php-guzzlehttp-guzzle"), phpVersion()), "php/guzzle.php", {
    setting: "`'allow_redirects' => false`, `CURLOPT_FORBID_REUSE => true`",
  }),
  client("Ruby, Net::HTTP", rubyVersion, "ruby/net_http.rb", {
    setting: "`max_retries = 0`",
    example: "ruby/create_order.rb",
  }),
  client("Ruby, Faraday", ruby("Faraday", "ruby-faraday"), "ruby/faraday.rb"),
  client("Ruby, httpclient", ruby("httpclient", "ruby-httpclient"), "ruby/httpclient.rb"),
  client("Ruby, excon", ruby("excon", "ruby-excon"), "ruby/excon.rb"),
  client("Ruby, http.rb", ruby("http.rb", "ruby-http"), "ruby/http_rb.rb"),
  client("Ruby, Typhoeus", ruby("Typhoeus", "ruby-typhoeus"), "ruby/typhoeus.rb", { setting: "`forbid_reuse: true`" }),
  client(
    "Rust, reqwest",
    existsSync(rustProgram) ? crate("reqwest", "examples/rust") : undefined,
    "rust/src/bin/reqwest.rs",
    {
      setting: "`redirect::Policy::none()`, `retry::never()`",
      example: "rust/src/main.rs",
      isBuilt: moreRust,
    },
  ),
  client("Rust, ureq", moreRust ? crate("ureq", `${programs}/rust`) : undefined, "rust/src/bin/ureq.rs", {
    setting: "`max_redirects(0)`",
  }),
  client("Perl, LWP", perl("LWP", "libwww-perl"), "perl/lwp.pl"),
  client("Perl, HTTP::Tiny", perlVersion, "perl/http_tiny.pl"),
  client("Perl, Mojo", perl("Mojolicious", "libmojolicious-perl"), "perl/mojo.pl"),
  client("Perl, Furl", perl("Furl", "libfurl-perl"), "perl/furl.pl", { setting: "`max_redirects => 0`" }),
  client("R, httr", withLanguage(packaged("httr", "r-cran-httr"), packaged("R", "r-base-core")), "r/httr.R", {
    setting: "`followlocation = 0, forbid_reuse = 1`",
  }),
  client("R, httr2", withLanguage(packaged("httr2", "r-cran-httr2"), packaged("R", "r-base-core")), "r/httr2.R", {
    setting: "`followlocation = 0, forbid_reuse = 1`",
  }),
  client("Erlang, httpc", packaged("Erlang/OTP", "erlang-inets"), "erlang/order.escript", {
    setting: "`autoredirect`: false",
  }),
  client("Elixir, httpc", packaged("Elixir", "elixir"), "elixir/order.exs", { setting: "`autoredirect`: false" }),
  client("Haskell, http-client", packaged("http-client", "libghc-http-client-dev"), "haskell/Order.hs", {
    setting: "`managerRetryableException = const False`, `redirectCount = 0`",
  }),
  client("Lua, socket.http", packaged("LuaSocket", "lua-socket"), "lua/socket_http.lua", {
    setting: "`redirect`: false",
  }),
  client("Tcl, http", packaged("Tcl", "tcl8.6"), "tcl/http.tcl"),
  client("Nim, httpclient", packaged("Nim", "nim"), "nim/order.nim", { setting: "`maxRedirects`: 0" }),
  client("Crystal, HTTP::Client", packaged("Crystal", "crystal"), "crystal/order.cr", {
    setting: "`HTTP::Client.new(TCPSocket.new(host, port), host, port)` for each order",
  }),
  client("Emacs, url", packaged("Emacs", "emacs-nox"), "emacs/url.el"),
  client("Guile, web client", packaged("Guile", "guile-3.0"), "guile/order.scm"),
  client("SWI-Prolog, http_open", packaged("SWI-Prolog", "swi-prolog-nox"), "prolog/order.pl", {
    setting: "`redirect`: false",
  }),
];
