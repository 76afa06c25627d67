// Who may import whom: the table of docs/architecture.md. Everything that is not allowed here is an error.
const vocabulary =
  "^src/(errors|events|secret|clock|environment|bind|callers|defect|first-of-its-kind|hop-by-hop|http-date|nearest-name|parameter-rules|printable|process-events|redis-access|status-class|version)\\.ts$";

/** A room may import itself, the vocabulary and what is listed. */
const room = (name, path, allowed) => ({
  name: `${name}-imports`,
  severity: "error",
  comment: `${name} may import the vocabulary and ${allowed.join(", ")}`,
  from: { path },
  to: { pathNot: [path, vocabulary, ...allowed] },
});

/** A package is imported in one folder only. */
const only = (packageName, folder) => ({
  name: `only-${folder}-imports-${packageName}`,
  severity: "error",
  from: { path: "^src", pathNot: `^src/${folder}/` },
  to: { path: `^node_modules/${packageName}/` },
});

const adapters = ["memory", "redis", "node-http", "undici", "prometheus", "log", "status"];
const packageOf = { redis: "(ioredis|redlock)", undici: "undici", prometheus: "prom-client", log: "pino" };
const ports = ["^src/journey/(messages|handle)\\.ts$", "^src/tokens/(store|lock|shared-conduct|endpoint)\\.ts$"];

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    { name: "resolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "vocabulary-imports",
      severity: "error",
      from: { path: vocabulary },
      to: { pathNot: [vocabulary, "^node:(crypto|util|fs)$", "^(crypto|util|fs)$"] },
    },
    room("signing", "^src/signing/", ["^(node:)?crypto$"]),
    room("tokens", "^src/tokens/", ["^(node:)?crypto$"]),
    room("journey", "^src/journey/", ["^src/signing/", "^src/tokens/(source|token)\\.ts$"]),
    room("config", "^src/config/", [
      "^node_modules/(zod|yaml)/",
      "^(node:)?(crypto|path|net|os|tls|fs|fs/promises|util)$",
    ]),
    room("inject", "^src/inject/", ["^node_modules/yaml/"]),
    {
      name: "only-load-reads-files",
      severity: "error",
      from: { path: "^src/config/", pathNot: "^src/config/(load|watch-files)\\.ts$" },
      to: { path: "^(node:)?fs(/promises)?$" },
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
      name: "simulator-stands-alone",
      severity: "error",
      from: { path: "^src/simulator/" },
      to: { path: ["^src/", "^node_modules/"], pathNot: "^src/simulator/" },
    },
    {
      name: "simulator-front-door",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/simulator/" },
      to: { path: "^src/simulator/", pathNot: "^src/simulator/(simulator|options|sites|seen|fault|counts)\\.ts$" },
    },
    {
      name: "only-simulate-and-demo-know-the-simulator",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(simulator/|cli/(simulate|demo|(simulate|demo)/.*)\\.ts$)" },
      to: { path: "^src/simulator/" },
    },
    {
      name: "nobody-imports-the-command-line",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(cli/|main\\.ts$)" },
      to: { path: "^src/cli/" },
    },
    {
      name: "only-cli-imports-wiring",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(cli|wiring)/" },
      to: { path: "^src/wiring/" },
    },
    {
      name: "only-wiring-knows-adapters",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(adapters|wiring|cli)/" },
      to: { path: "^src/adapters/" },
    },
    only("undici", "adapters/undici"),
    only("prom-client", "adapters/prometheus"),
    only("pino", "adapters/log"),
    only("(ioredis|redlock)", "adapters/redis"),
    only("commander", "cli"),
    only("zod", "config"),
    only("yaml", "(config|inject)"),
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
    enhancedResolveOptions: {
      extensions: [".ts", ".js"],
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
    },
  },
};
