import { Command } from "commander";
import { type ConfiguredSet, ownersOf, setsOf, type TokenOwner } from "../app/token-sources.ts";
import { openUpstreams } from "../app/upstreams.ts";
import { systemClock } from "../model/clock.ts";
import { listNames } from "../model/names.ts";
import { explainNoToken } from "../oauth/no-token.ts";
import { isNotAsked, requestToken, type TokenAnswer } from "../oauth/token-endpoint.ts";
import { configOption, exampleOf, exitCodes, usageFailure } from "./command.ts";
import { loadOrRefuse } from "./load-or-refuse.ts";
import { reportNoToken } from "./no-token.ts";
import { paint, print, printable, printJson } from "./terminal.ts";

interface Options {
  readonly config: string;
  readonly environment?: string;
  readonly site?: string;
  readonly json?: boolean;
}

type Fetched = ReturnType<typeof describe>;

export function createCommand(): Command {
  return new Command("token")
    .description("Fetch a token for each configured credential set and show it masked; it is not kept.")
    .addOption(configOption())
    .option("--environment <name>", "only this environment's sets")
    .option("--site <identifier>", "only the sets configured at this site")
    .option("--json", "print the results as JSON")
    .addHelpText(...exampleOf("countersign token --config countersign.yaml"))
    .action(fetchTokens);
}

async function fetchTokens(options: Options): Promise<void> {
  const { environment, site, json = false } = options;
  const { config } = await loadOrRefuse(options.config);
  const owners = [...ownersOf(config)];
  const sets = owners
    .filter((owner) => environment === undefined || owner.environment.name === environment)
    .filter((owner) => site === undefined || owner.site === site)
    .flatMap(setsOf);
  if (sets.length === 0) throw noneMatches(owners, options);
  const upstreams = openUpstreams(systemClock);
  await upstreams.prepare(config);
  const fetched: Fetched[] = [];
  for (const each of sets) {
    const endpoint = upstreams.tokenEndpointOf(each);
    const asking = { wallMs: () => systemClock.wallMs(), timeoutMs: config.timeouts.tokenMs };
    fetched.push(describe(each, await requestToken(endpoint, each.set, asking)));
  }
  await upstreams.close();
  if (json) printJson(fetched);
  else for (const each of fetched) print(formatFetched(each));
  if (fetched.some(({ result }) => result !== "issued")) process.exitCode = exitCodes.no;
}

/** Lists the configured sets, so that the user sees what a mistyped name should be. */
function noneMatches(owners: readonly TokenOwner[], { environment, site }: Options): Error {
  const there = owners.map(({ environment, site }) => `--environment ${environment.name} --site ${site}`);
  if (there.length === 0) return usageFailure("No credential set is configured.");
  const given = Object.entries({ environment, site }).flatMap(([name, value]) => {
    return value === undefined ? [] : [`--${name} ${printable(value)}`];
  });
  return usageFailure(`No credential set matches ${given.join(" ")}. Configured: ${listNames(there, 10)}.`);
}

function describe(configured: ConfiguredSet, answer: TokenAnswer) {
  const { environment, set } = configured;
  // The doctor skips a set that has no assertion; who asks for a token needs to know its file.
  const explain = (failed: Exclude<TokenAnswer, { kind: "issued" }>) =>
    isNotAsked(failed) ? explainNoToken(failed, configured, "operator") : reportNoToken(failed, configured);
  const failure = answer.kind === "issued" ? undefined : explain(answer);
  const grant = answer.kind === "issued" ? answer.grant : undefined;
  return {
    environment,
    credential: set.label,
    result: answer.kind,
    status: "status" in answer ? answer.status : undefined,
    cause: "cause" in answer ? answer.cause : undefined,
    detail: failure?.detail,
    fix: failure?.fix,
    lifetimeSeconds: grant && grant.lifetimeMs / 1_000,
    token: grant && `[${grant.secret.length} characters]`,
  };
}

function formatFetched({ environment, credential, result, lifetimeSeconds, token, detail, fix }: Fetched): string {
  const name = `${environment} ${credential}`;
  if (result === "issued") return `${paint("green", "ok")}   ${name}: a token ${token}, valid for ${lifetimeSeconds} s`;
  const lines = [`${paint("red", "no")}   ${name}: ${detail}`];
  if (fix !== undefined) lines.push(`     fix  ${fix}`);
  return lines.join("\n");
}
