import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll } from "vitest";
import { stringify } from "yaml";
import { runSync } from "../../../testkit/run-program.ts";

export const redisPassword = "password-of-the-cluster-redis";

/** The page's placeholders, and the reader's values for them. The service is the simulator, which knows this client. */
const choices: readonly (readonly [string, string])[] = [
  ["REGISTRY", process.env["REGISTRY"] ?? ""],
  ["CLIENT_ID", "client-blue"],
  ["the client secret", "example-client-secret-blue"],
  ["the password for Redis", redisPassword],
];

/** A text of the page with the reader's values. */
export function toRun(text: string): string {
  return choices.reduce((before, [ofPage, ofReader]) => before.replaceAll(ofPage, ofReader), text);
}

export interface Typed {
  readonly exitCode: number | string;
  readonly output: string;
}

/** Runs commands in a shell that stops at the first failure. */
function run({ commands, folder = ".", env = {} }: Typing): Typed {
  const input = `{ ${toRun(commands.join("\n"))}\n} 2>&1\n`;
  const options = { cwd: folder, input, env: { ...process.env, ...env } };
  const { exitCode, stdout, stderr } = runSync("bash", ["-eu", "-o", "pipefail"], options);
  return { exitCode, output: stdout + stderr };
}

interface Typing {
  readonly commands: readonly string[];
  readonly folder?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Runs commands that must succeed.
 * @returns their output
 */
export function type(typing: Typing): string {
  const { exitCode, output } = run(typing);
  if (exitCode !== 0) throw new Error(`it ended with ${exitCode}:\n${typing.commands.join("\n")}\n${output}`);
  return output;
}

/** A reader of the page: a namespace, kubectl with this namespace, and a folder with the repository's files. */
export class Reader {
  readonly #folder = mkdtempSync(join(tmpdir(), "countersign-reader-"));
  readonly namespace: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(namespace: string) {
    this.namespace = namespace;
    const kubeconfig = join(this.#folder, ".kube");
    cpSync("/run/kubeconfig", kubeconfig);
    this.env = { KUBECONFIG: kubeconfig, HELM_CACHE_HOME: join(this.#folder, ".helm") };
    symlinkSync(resolve("deploy"), join(this.#folder, "deploy"));
    cpSync("helm", join(this.#folder, "helm"), { recursive: true });
    this.type(`kubectl create namespace ${namespace}`, `kubectl config set-context --current --namespace ${namespace}`);
    afterAll(() => rmSync(this.#folder, { recursive: true }));
  }

  /** Files of the reader's own, by name. */
  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      const file = join(this.#folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, toRun(text));
    }
  }

  type(...commands: readonly string[]): string {
    return type({ commands, folder: this.#folder, env: this.env });
  }

  /** Runs commands that may fail. */
  try(...commands: readonly string[]): Typed {
    return run({ commands, folder: this.#folder, env: this.env });
  }

  apply(...objects: readonly object[]): void {
    this.write({ "applied.yaml": objects.map((object) => stringify(object)).join("---\n") });
    this.type("kubectl apply --filename applied.yaml", "rm applied.yaml");
  }

  // biome-ignore lint/suspicious/noExplicitAny: as the cluster has it
  get(what: string): any {
    return JSON.parse(this.type(`kubectl get ${what} --output json`));
  }
}
