import { randomBytes } from "node:crypto";
import { Command, InvalidArgumentError } from "commander";
import { exampleOf, usageFailure } from "countersign/cli/command";
import { loadOrRefuse } from "countersign/cli/load-or-refuse";
import { untilStopped } from "countersign/cli/run-program";
import { print } from "countersign/cli/terminal";
import type { Config } from "countersign/config/config";
import { exampleSites } from "./example-sites.ts";
import { type OwnPorts, type Simulation, simulationOf } from "./from-config.ts";
import { type Simulator, startSimulator } from "./service/simulator.ts";
import type { SimulatedSite } from "./service/sites.ts";

interface Options extends OwnPorts {
  readonly config?: string;
  readonly environment?: string;
  readonly tokenLifetime: number;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command("simulate")
    .description("Play the payment service: the JSON API and the authorization server, strictly by the specification.")
    .option(
      "--config <file>",
      "play the sites, keys and credential sets of this configuration, at its addresses on loopback",
    )
    .option("--environment <name>", "with --config: only this environment")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--api-port <port>", "port of the JSON API", readPort, 7421)
    .option("--login-port <port>", "port of the authorization server", readPort, 7422)
    .option("--token-lifetime <seconds>", "life of a token", readNumber, 86_400)
    .option("--json", "print the addresses, and at the end the counts, as a line of JSON each")
    .addHelpText(...exampleOf("countersign simulate --config countersign.yaml"))
    .action(simulate);
}

interface Running {
  readonly simulation: Simulation;
  readonly simulator: Simulator;
}

async function simulate(options: Options, command: Command): Promise<void> {
  const { config: file, json = false } = options;
  if (file === undefined && options.environment !== undefined) throw usageFailure("--environment goes with --config.");
  const simulations =
    file === undefined ? [simulateExample(options)] : simulateConfig((await loadOrRefuse(file)).config, options);
  if (file !== undefined) refuseIgnoredPorts(simulations[0], command);
  const running: Running[] = [];
  try {
    for (const simulation of simulations)
      running.push({ simulation, simulator: await start(simulation, options, simulations.length > 1) });
    for (const each of running) json ? printAsJson(each) : describe(each, file);
    if (!json) print("Ctrl-C ends it.");
    await untilStopped();
    for (const each of running) printCounts(each, json);
  } finally {
    for (const { simulator } of running) await simulator.stop();
  }
}

/** With a configuration, a port is used only if its address is not on this machine. */
function refuseIgnoredPorts(first: Simulation | undefined, command: Command): void {
  for (const [option, name, setting] of [
    ["--api-port", "apiPort", "baseUrl"],
    ["--login-port", "loginPort", "authUrl"],
  ] as const) {
    if (command.getOptionValueSource(name) !== "cli" || first?.elsewhere.includes(setting)) continue;
    throw usageFailure(`${option} does nothing here: the port is in environments.${first?.environment}.${setting}.`);
  }
}

function simulateExample({ host, apiPort, loginPort }: Options): Simulation {
  const options = { host, apiPort, loginPort, sites: exampleSites };
  return { environment: "sandbox", options, elsewhere: [], notes: [] };
}

/** The first environment uses the given ports if it needs any, the others use free ports. */
function simulateConfig(
  { environments }: Config,
  { environment: only, host, apiPort, loginPort }: Options,
): Simulation[] {
  const wanted = [...environments.values()].filter(({ name }) => only === undefined || name === only);
  if (wanted.length === 0) throw usageFailure(`--environment is one of: ${[...environments.keys()].join(", ")}.`);
  return wanted.map((environment, index) =>
    simulationOf(environment, index === 0 ? { host, apiPort, loginPort } : { host, apiPort: 0, loginPort: 0 }),
  );
}

function start(simulation: Simulation, { config, tokenLifetime, json }: Options, isOneOfMany: boolean) {
  const { environment, options } = simulation;
  const log = (line: string) => print(isOneOfMany ? `${environment} ${line}` : line);
  // Tokens of an earlier run are dead, so none may come again: it would be taken for the refused one.
  const tokenPrefix = `${randomBytes(4).toString("hex")}_`;
  const more = { tokenPrefix, tokenLifetimeSeconds: tokenLifetime, ...(json ? {} : { log }) };
  return startSimulator({ ...options, ...more }).catch((error: NodeJS.ErrnoException & { port?: number }) => {
    const isTaken = error.code === "EADDRINUSE";
    const what = isTaken ? `port ${error.port} is taken; end what listens there` : error.message;
    const [option, setting] = error.port === options.apiPort ? ["--api-port", "baseUrl"] : ["--login-port", "authUrl"];
    const inConfig = config === undefined ? "" : `, or in environments.${environment}.${setting}`;
    throw usageFailure(
      `The simulator cannot start: ${what}${isTaken ? `, or name another port with ${option}${inConfig}` : ""}.`,
    );
  });
}

function describe({ simulation, simulator }: Running, file: string | undefined): void {
  const { environment, elsewhere, notes, options } = simulation;
  if (file !== undefined) print(`environment ${environment} of ${file}`);
  print(`JSON API    ${simulator.apiUrl}`);
  print(`authorization server  ${simulator.loginUrl}`);
  print(
    `control     ${simulator.controlUrl}   (GET: counts; POST …/faults, …/callback, …/revoke-tokens, …/login/stop)`,
  );
  for (const site of options.sites) for (const line of describeSite(site, file === undefined)) print(line);
  print("made up     tokens, order ids and the bodies of answers: the specification shows none");
  for (const note of notes) print(`note        ${note}`);
  if (elsewhere.length === 0) return;
  print(`\nThe configuration names other addresses. To use the simulator, put into environments.${environment}:`);
  for (const key of elsewhere) print(`    ${key}: ${key === "baseUrl" ? simulator.apiUrl : simulator.loginUrl}`);
  print("    allowPlaintext: true\n");
}

/** @param isMadeUp true for the example, whose secrets are public; a configuration's secrets are never shown */
function* describeSite({ identifier, parent, keys = [], credentials = [] }: SimulatedSite, isMadeUp: boolean) {
  const secret = (text: string) => (isMadeUp ? ` secret ${text}` : "");
  yield `site        ${identifier}${parent === undefined ? "" : `, child of ${parent}`}`;
  for (const key of keys) yield `            key ${key.identifier}${secret(key.secret)}`;
  for (const set of credentials) {
    yield `            client ${set.clientId}${secret(set.clientSecret)} audience ${set.audience}`;
  }
}

function printAsJson({ simulation, simulator }: Running): void {
  const addresses = { baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl, control: simulator.controlUrl };
  const { environment, options, elsewhere, notes } = simulation;
  const sites = options.sites.map(({ identifier }) => identifier);
  print(JSON.stringify({ ...addresses, environment, sites, elsewhere, notes }));
}

function printCounts({ simulator }: Running, json: boolean): void {
  const counts = simulator.counts();
  const sum =
    `\nseen: ${counts.apiRequests} calls (${counts.accepted} accepted, ${counts.unauthorized} 401, ` +
    `${counts.refused} refused), ${counts.tokenRequests} token requests (${counts.tokensIssued} issued)`;
  print(json ? JSON.stringify(counts) : sum);
}

function readPort(text: string): number {
  const port = readNumber(text);
  if (port <= 65_535) return port;
  throw new InvalidArgumentError("A port is at most 65535.");
}

function readNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("A whole number is needed.");
}
