import { Command, InvalidArgumentError } from "commander";
import { startSimulator } from "../simulator/simulator.ts";
import { usageFailure } from "./command.ts";
import { exampleSites } from "./demo/sites.ts";
import { print } from "./terminal.ts";
import { untilStopped } from "./until-stopped.ts";

interface Options {
  readonly host: string;
  readonly apiPort: number;
  readonly loginPort: number;
  readonly tokenLifetime: number;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command("simulate")
    .description("Play the payment service: the JSON API and the login host, strictly by the specification.")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--api-port <port>", "port of the JSON API", readPort, 7421)
    .option("--login-port <port>", "port of the login host", readPort, 7422)
    .option("--token-lifetime <seconds>", "life of a token", readNumber, 86_400)
    .option("--json", "print the addresses, and at the end the counts, as a line of JSON each")
    .action(simulate);
}

async function simulate({ host, apiPort, loginPort, tokenLifetime, json }: Options): Promise<void> {
  const simulator = await startSimulator({
    host,
    apiPort,
    loginPort,
    tokenLifetimeSeconds: tokenLifetime,
    sites: exampleSites,
    ...(json ? {} : { log: print }),
  }).catch((error: NodeJS.ErrnoException & { port?: number }) => {
    const what = error.code === "EADDRINUSE" ? `port ${error.port} is taken` : error.message;
    throw usageFailure(`The simulator cannot start: ${what}.`);
  });
  const addresses = { baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl, control: simulator.controlUrl };
  if (json) print(JSON.stringify(addresses));
  else {
    print(`JSON API    ${addresses.baseUrl}`);
    print(`login host  ${addresses.authUrl}`);
    print(`control     ${addresses.control}   (GET: counts; POST …/faults, …/revoke-tokens, …/login/stop)`);
    print(`sites       ${exampleSites.map(({ identifier }) => identifier).join(" ")}   Ctrl-C ends it.`);
  }
  await untilStopped();
  const counts = simulator.counts();
  await simulator.stop();
  if (json) print(JSON.stringify(counts));
  else {
    print(
      `\nseen: ${counts.apiRequests} calls (${counts.accepted} accepted, ${counts.unauthorized} 401, ` +
        `${counts.refused} refused), ${counts.tokenRequests} token requests (${counts.tokensIssued} issued)`,
    );
  }
}

function readPort(text: string): number {
  const port = readNumber(text);
  if (port <= 65_535) return port;
  throw new InvalidArgumentError("a port is at most 65535");
}

function readNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("a whole number is needed");
}
