import { Command, InvalidArgumentError } from "commander";
import { configSchema } from "../config/schema.ts";
import { readDocument } from "../config/yaml.ts";
import { inject } from "../inject/inject.ts";
import type { Selector } from "../inject/sidecar.ts";
import { version } from "../version.ts";
import { usageFailure } from "./command.ts";
import { readOrRefuse, readStandardInput } from "./input.ts";

interface Options {
  readonly file: string;
  readonly image: string;
  readonly configMap: string;
  readonly secret: string;
  readonly env?: string;
  readonly selector?: Selector;
  readonly config?: string;
  readonly classic?: boolean;
}

export function createCommand(): Command {
  return new Command("inject")
    .description(
      "Add Countersign to every Deployment, StatefulSet, DaemonSet, Job, CronJob and Pod of a Kubernetes manifest.",
    )
    .requiredOption("-f, --file <file>", "the manifest; - for standard input. The changed one goes to standard output")
    .option("--image <image>", "image of the sidecar", matching(/^[\w.:/@-]+$/), `countersign:${version}`)
    .option("--config-map <name>", "ConfigMap with the file countersign.yaml", matching(resourceName), "countersign")
    .option("--secret <name>", "Secret for /run/secrets/countersign", matching(resourceName), "countersign")
    .option(
      "--env <name>",
      "variable of the application's containers for the address to call; of its init containers too, but for --classic",
      matching(/^[A-Za-z_]\w*$/),
    )
    .option(
      "-l, --selector <labels>",
      "only workloads whose own labels match, as in kubectl: a=b,c!=d,e in (f,g),!h",
      parseSelector,
    )
    .option(
      "--config <file>",
      "countersign.yaml, whose times are added to the pods' grace periods. Default: those of its defaults",
    )
    .option("--classic", "a container beside the application's instead of a native sidecar, before Kubernetes 1.29")
    .addHelpText("after", notes)
    .action(run);
}

const classicNeeds = `both containers get SIGTERM at once. Name countersign.yaml with --config, and set drain.minSeconds
in it to the seconds for which the application still calls.`;

const notes = `
A workload that says countersign.dev/inject: "false", by an annotation of itself or of its pods, stays as it is; so do Pods and Jobs
that another workload has made. A second run changes nothing; one with other options replaces what the first has added. A variable
that another --env has set stays as it is.

--classic: ${classicNeeds}
`;

const resourceName = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

function matching(form: RegExp) {
  return (given: string): string => {
    if (form.test(given)) return given;
    throw new InvalidArgumentError("It cannot be called that.");
  };
}

function parseSelector(given: string): Selector {
  const selector = readSelector(given);
  if (selector !== undefined) return selector;
  throw new InvalidArgumentError("Write it like kubectl's: a=b,c!=d,e in (f,g),!h.");
}

const requirement =
  /^\s*(?<not>!?)\s*(?<key>[\w./-]+)\s*(?:(?<sign>==?|!=)\s*(?<value>[\w.-]*)|\s(?<word>in|notin)\s*\((?<values>[^()]+)\))?\s*$/;

/**
 * A label selector in the syntax of `kubectl --selector`: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, joined by
 * commas. As there, `!=` and `notin` also select what lacks the label.
 * @returns undefined where the text is no such selector
 */
function readSelector(text: string): Selector | undefined {
  const selectors = text.split(/,(?![^(]*\))/).map(readRequirement);
  if (selectors.includes(undefined)) return undefined;
  return (labels) => selectors.every((selects) => selects?.(labels));
}

function readRequirement(text: string): Selector | undefined {
  const { not, key, sign, value, word, values = value } = requirement.exec(text)?.groups ?? {};
  if (key === undefined || (not === "!" && values !== undefined)) return undefined;
  const isNegated = not === "!" || sign === "!=" || word === "notin";
  const wanted = values?.split(",").map((each) => each.trim());
  const matches: Selector = (labels) => Object.hasOwn(labels, key) && (wanted?.includes(String(labels[key])) ?? true);
  return (labels) => matches(labels) !== isNegated;
}

async function run({ file, classic = false, env, selector, config, ...rest }: Options): Promise<void> {
  const { minSeconds, drainSeconds } = readDrain(config, config === undefined ? "{}" : await read(config));
  if (classic && minSeconds === 0) throw usageFailure(`--classic: ${classicNeeds}\n\nNothing was injected.`);
  const selects = selector ?? (() => true);
  const injected = inject(await read(file), { ...rest, isClassic: classic, urlVariable: env, selects, drainSeconds });
  if (injected.kind === "refused") {
    const problems = injected.problems.map((problem) => `${file}: ${problem}`).join("\n");
    throw usageFailure(`${problems}\n\nNothing was injected.`);
  }
  process.stdout.write(injected.manifest);
}

async function read(file: string): Promise<string> {
  const end = ". Give the path of a manifest, or - for standard input.";
  const bytes = await (file === "-" ? readStandardInput("a manifest") : readOrRefuse(file, end));
  return bytes.toString("utf8");
}

/** For the last responses, once the longest request has ended. */
const lastResponsesSeconds = 2;
const reserveSeconds = 5;

/**
 * The time from SIGTERM to the end at the latest, and a reserve. Reads only these settings of a configuration: its secrets
 * are in the cluster, so that nothing else of it can be checked here.
 */
function readDrain(file: string | undefined, yaml: string): { minSeconds: number; drainSeconds: number } {
  const { value, yamlProblems } = readDocument(yaml);
  const given = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const drain = configSchema.shape.drain.safeParse(given["drain"]);
  const timeouts = configSchema.shape.timeouts.safeParse(given["timeouts"]);
  if (yamlProblems.length > 0 || !drain.success || !timeouts.success) {
    throw usageFailure(`${file}: drain and timeouts cannot be read; countersign check says what is wrong.`);
  }
  const { minSeconds } = drain.data;
  const requestSeconds = Math.ceil(timeouts.data.request / 1_000);
  return { minSeconds, drainSeconds: Math.ceil(minSeconds) + requestSeconds + lastResponsesSeconds + reserveSeconds };
}
