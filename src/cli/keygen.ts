import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command } from "commander";
import { toYaml } from "../config/files/yaml.ts";
import { CommandFailure, exampleOf, exitCodes } from "./command.ts";
import { print, printError, printJson } from "./terminal.ts";

interface Options {
  readonly out?: string;
  readonly json?: boolean;
}

/** AES-256. */
const keyBytes = 32;
const ownerOnly = 0o600;
const hint = "Put it into a file that only Countersign may read (chmod 600), or let --out FILE do that.";

export function createCommand(): Command {
  return new Command("keygen")
    .description("Make a key for `redis.encryptionKeys`: 64 random hex digits, printed or put into a new file.")
    .option("--out <file>", "write the key to this new file, which only its owner may read; fails if the file exists")
    .option("--json", "print the key, or what to put into the configuration, as JSON")
    .addHelpText(...exampleOf("countersign keygen --out encryption-key"))
    .action(generate);
}

async function generate({ out, json = false }: Options): Promise<void> {
  const key = randomBytes(keyBytes).toString("hex");
  if (out === undefined) {
    if (json) return printJson({ key });
    print(key);
    if (process.stdout.isTTY === true) printError(hint);
    return;
  }
  const file = resolve(out);
  await writeNew(file, `${key}\n`);
  const configuration = { redis: { encryptionKeys: [{ file }] } };
  if (json) return printJson({ file, configuration });
  print(`A new key is in ${file}, which only you may read. In the configuration:\n`);
  print(toYaml(configuration));
  print(
    "To replace a key: add the new one behind it and roll out, put the new one first and roll out, remove the old.",
  );
}

/** An existing file stays: it may hold the key of tokens that are in use. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx", mode: ownerOnly });
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    const message =
      code === "EEXIST"
        ? `${file} exists already and stays as it is: tokens may be encrypted with it. Name a new file.`
        : `${file} cannot be written (${code}). Name a file in a folder that you may write to.`;
    throw new CommandFailure(message, exitCodes.no);
  }
}
