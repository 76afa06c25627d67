import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Command, InvalidArgumentError } from "commander";
import { inject } from "../inject/inject.ts";
import { readSelector, type Selector } from "../inject/selector.ts";
import { version } from "../version.ts";
import { usageFailure } from "./command.ts";
import { readDrain } from "./read-drain.ts";
import { sayWhatIsAwaited } from "./terminal.ts";

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
      "variable of the application's containers for the address to call",
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
    .addHelpText("after", afterwards)
    .action(print);
}

const classicNeeds = `both containers get SIGTERM at once. Name countersign.yaml with --config, and set drain.minSeconds
in it to the seconds for which the application still calls.`;

const afterwards = `
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

function parseSelector(text: string): Selector {
  const selector = readSelector(text);
  if (selector !== undefined) return selector;
  throw new InvalidArgumentError("Write it like kubectl's: a=b,c!=d,e in (f,g),!h.");
}

async function print(options: Options): Promise<void> {
  const { file, classic = false, env, selector = () => true, config, ...rest } = options;
  const { minSeconds, seconds } = readDrain(config, config === undefined ? "{}" : await read(config));
  if (classic && minSeconds === 0) throw usageFailure(`--classic: ${classicNeeds}\n\nNothing was injected.`);
  const wishes = { ...rest, isClassic: classic, urlVariable: env, selects: selector, drainSeconds: seconds };
  const injected = inject(await read(file), wishes);
  if (injected.kind === "refused") {
    throw usageFailure(
      `${injected.problems.map((problem) => `${file}: ${problem}`).join("\n")}\n\nNothing was injected.`,
    );
  }
  process.stdout.write(injected.manifest);
}

async function read(file: string): Promise<string> {
  if (file === "-") {
    sayWhatIsAwaited("a manifest");
    return text(process.stdin);
  }
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw usageFailure(`${file} cannot be read (${code}). Give the path of a manifest, or - for standard input.`);
  }
}
