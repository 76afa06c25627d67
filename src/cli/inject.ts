import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Command, InvalidArgumentError } from "commander";
import { inject } from "../inject/inject.ts";
import { drainSeconds } from "../inject/sidecar.ts";
import { version } from "../version.ts";
import { usageFailure } from "./command.ts";
import { printError, sayWhatIsAwaited } from "./terminal.ts";

interface Options {
  readonly file: string;
  readonly image: string;
  readonly configMap: string;
  readonly secret: string;
  readonly classic?: boolean;
  readonly env?: string;
}

export function createCommand(): Command {
  return new Command("inject")
    .description(
      "Add Countersign to every Deployment, StatefulSet, DaemonSet, Job and CronJob of a Kubernetes manifest.",
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
    .option("--classic", "a container beside the application's instead of a native sidecar, before Kubernetes 1.29")
    .addHelpText("after", afterwards)
    .action(print);
}

const classicNeeds = `With --classic both containers get SIGTERM at once: set drain.minSeconds in countersign.yaml
to the seconds for which the application still calls. The pod's terminationGracePeriodSeconds
must be at least ${drainSeconds} more.`;

const afterwards = `
A second run changes nothing; one with other options replaces what the first has added. A variable
that another --env has set stays as it is.

${classicNeeds}`;

const resourceName = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

function matching(form: RegExp) {
  return (given: string): string => {
    if (form.test(given)) return given;
    throw new InvalidArgumentError("It cannot be called that.");
  };
}

async function print({ file, classic = false, env, ...rest }: Options): Promise<void> {
  const injected = inject(await read(file), { ...rest, isClassic: classic, urlVariable: env });
  if (injected.kind === "refused") {
    throw usageFailure(
      `${injected.problems.map((problem) => `${file}: ${problem}`).join("\n")}\n\nNothing was injected.`,
    );
  }
  process.stdout.write(injected.manifest);
  if (classic) printError(classicNeeds);
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
