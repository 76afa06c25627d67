// Who may import whom: the table of docs/architecture.md. Everything that is not allowed here is an error.
const vocabulary = "^src/(model/|http/|parameters/|version\\.ts$)";

/** A folder may import itself, the vocabulary and what is listed. */
const folder = (name, path, allowed) => ({
  name: `${name}-imports`,
  severity: "error",
  comment: `${name} may import the vocabulary and ${allowed.join(", ")}`,
  from: { path },
  to: { pathNot: [path, vocabulary, ...allowed] },
});

/** A package is imported in one folder only. */
const only = (packageName, where) => ({
  name: `only-${where}-imports-${packageName}`,
  severity: "error",
  from: { path: "^src", pathNot: `^src/${where}/` },
  to: { path: `^node_modules/${packageName}/` },
});

const adapters = ["memory", "redis", "http-server", "http-client", "http-proxy", "jose", "stats", "log"];
const packageOf = {
  redis: "(ioredis|redlock)",
  "http-proxy": "http-proxy",
  jose: "jose",
  stats: "prom-client",
  log: "pino",
};
const ports = [
  "^src/serving/messages\\.ts$",
  "^src/claims/claim\\.ts$",
  "^src/pass-through/messages\\.ts$",
  "^src/callbacks/application\\.ts$",
  "^src/tracing/span-exporter\\.ts$",
  "^src/oauth/(token-store|token-endpoint)\\.ts$",
];

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "resolvable",
      severity: "error",
      comment: "what bench:peers and the documents' site install, and what a build makes, may be missing",
      from: { pathNot: "^(bench/http/peers/|scripts/(site/|references\\.mjs$))" },
      to: { couldNotResolve: true },
    },
    {
      name: "vocabulary-imports",
      severity: "error",
      from: { path: vocabulary },
      to: { pathNot: [vocabulary, "^node:(crypto|util|fs)$", "^(crypto|util|fs)$"] },
    },
    folder("oauth", "^src/oauth/", ["^(node:)?crypto$"]),
    folder("claims", "^src/claims/", []),
    folder("serving", "^src/serving/", ["^src/oauth/token\\.ts$"]),
    folder("orders", "^src/orders/", ["^src/serving/", "^src/claims/claim\\.ts$", "^src/oauth/token\\.ts$"]),
    folder("callbacks", "^src/callbacks/", ["^src/serving/", "^src/claims/claim\\.ts$", "^(node:)?crypto$"]),
    folder("pass-through", "^src/pass-through/", ["^src/serving/", "^src/oauth/token\\.ts$", "^(node:)?stream$"]),
    folder("tracing", "^src/tracing/", ["^src/serving/messages\\.ts$"]),
    folder("config", "^src/config/", [
      "^node_modules/(zod|yaml|js-yaml)/",
      "^(node:)?(crypto|path|net|os|tls|fs|fs/promises|util)$",
    ]),
    {
      name: "only-load-and-files-read-files",
      severity: "error",
      from: { path: "^src/config/", pathNot: "^src/config/(load\\.ts$|files/)" },
      to: { path: "^(node:)?fs(/promises)?$" },
    },
    {
      name: "form-and-files-know-no-rules",
      severity: "error",
      from: { path: "^src/config/(form|files)/" },
      to: { path: "^src/config/rules/" },
    },
    ...adapters.map((adapter) => {
      const own = packageOf[adapter];
      return {
        name: `adapter-${adapter}-imports`,
        severity: "error",
        from: { path: `^src/adapters/${adapter}/` },
        to: {
          path: ["^src/", "^node_modules/"],
          pathNot: [
            `^src/adapters/${adapter}/`,
            vocabulary,
            ...ports,
            ...(own === undefined ? [] : [`^node_modules/${own}/`]),
          ],
        },
      };
    }),
    {
      name: "src-knows-no-simulator",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^simulator/" },
    },
    {
      name: "service-stands-alone",
      severity: "error",
      comment: "the simulated service shares no code with what it verifies",
      from: { path: "^simulator/src/service/" },
      to: { path: ["^src/", "^simulator/", "^node_modules/"], pathNot: "^simulator/src/service/" },
    },
    {
      name: "simulator-imports",
      severity: "error",
      comment: "its commands may read configurations and print as countersign does; only the demo starts a proxy",
      from: { path: "^simulator/", pathNot: "^simulator/src/(service/|demo/proxy\\.ts$)" },
      to: { path: ["^src/"], pathNot: ["^src/(config|model|cli)/", "^src/version\\.ts$"] },
    },
    {
      name: "no-development-package",
      severity: "error",
      comment: "the bill of materials lists what package.json has as dependencies",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "no-import-of-the-command-line",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(cli/|main\\.ts$)" },
      to: { path: "^src/cli/" },
    },
    {
      name: "only-cli-imports-app",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(cli|app)/" },
      to: { path: "^src/app/" },
    },
    {
      name: "only-app-knows-adapters",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(adapters|app|cli)/" },
      to: { path: "^src/adapters/" },
    },
    only("prom-client", "adapters/stats"),
    only("pino", "adapters/log"),
    only("http-proxy", "adapters/http-proxy"),
    only("jose", "adapters/jose"),
    only("(ioredis|redlock)", "adapters/redis"),
    only("commander", "cli"),
    only("zod", "config"),
    only("yaml", "config"),
    only("js-yaml", "config/files"),
    {
      name: "no-shared-drawers",
      severity: "error",
      from: {},
      to: { path: "^src/.*(utils|common|helpers|index)(/|\\.ts$)" },
    },
  ],
  options: {
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    // Programs with packages of their own.
    exclude: { path: "^test/clients/programs/" },
    enhancedResolveOptions: {
      extensions: [".ts", ".js"],
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "node", "default"],
    },
  },
};
