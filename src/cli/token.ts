import { Command } from "commander";
import { openUpstreams } from "../app/upstreams.ts";
import type { Config } from "../config/config.ts";
import { systemClock } from "../model/clock.ts";
import { credentialSetsOf, type Environment } from "../model/environment.ts";
import { requestToken, type TokenAnswer } from "../oauth/token-endpoint.ts";
import { exitCodes, usageFailure } from "./command.ts";
import { configOption } from "./config-option.ts";
import { loadOrRefuse } from "./load.ts";
import { paint, print, printJson } from "./terminal.ts";

interface Options {
  readonly config: string;
  readonly environment?: string;
  readonly site?: string;
  readonly json?: boolean;
}

interface Fetched {
  readonly environment: string;
  readonly credential: string;
  readonly result: TokenAnswer["kind"];
  readonly status: number | undefined;
  readonly lifetimeSeconds: number | undefined;
  readonly token: string | undefined;
}

export function createCommand(): Command {
  return new Command("token")
    .description("Fetch a token for each configured credential set and show it masked; it is not kept.")
    .addOption(configOption())
    .option("--environment <name>", "only this environment's sets")
    .option("--site <identifier>", "only the sets configured at this site")
    .option("--json", "print the results as JSON")
    .action(fetchTokens);
}

async function fetchTokens(options: Options): Promise<void> {
  const { config } = await loadOrRefuse(options.config);
  const wanted = pickSets(config, options);
  if (wanted.length === 0) throw usageFailure("No credential set matches --environment and --site.");
  const upstreams = openUpstreams(systemClock);
  upstreams.prepare(config);
  const fetched: Fetched[] = [];
  for (const { environment, set } of wanted) {
    const answer = await requestToken(upstreams.postFormOf(environment), set, () => systemClock.wallMs());
    fetched.push(describe(environment.name, set.label, answer));
  }
  await upstreams.close();
  if (options.json) printJson(fetched);
  else for (const each of fetched) print(formatFetched(each));
  if (fetched.some(({ result }) => result !== "issued")) process.exitCode = exitCodes.no;
}

function pickSets(config: Config, { environment: only, site }: Options) {
  const environments: Environment[] = [...config.environments.values()].filter(
    ({ name }) => only === undefined || name === only,
  );
  return environments.flatMap((environment) =>
    credentialSetsOf(environment)
      .filter(({ owner }) => site === undefined || site === owner)
      .flatMap(({ sets }) => sets.map((set) => ({ environment, set }))),
  );
}

function describe(environment: string, credential: string, answer: TokenAnswer): Fetched {
  const grant = answer.kind === "issued" ? answer.grant : undefined;
  return {
    environment,
    credential,
    result: answer.kind,
    status: "status" in answer ? answer.status : undefined,
    lifetimeSeconds: grant === undefined ? undefined : grant.lifetimeMs / 1_000,
    token: grant === undefined ? undefined : `[${grant.secret.length} characters]`,
  };
}

function formatFetched({ environment, credential, result, status, lifetimeSeconds, token }: Fetched): string {
  const name = `${environment} ${credential}`;
  if (result === "issued") return `${paint("green", "ok")}   ${name}: a token ${token}, valid for ${lifetimeSeconds} s`;
  return `${paint("red", "no")}   ${name}: ${result}${status === undefined ? "" : ` (${status})`}`;
}
