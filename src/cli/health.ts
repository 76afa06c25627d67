import { Command, InvalidArgumentError } from "commander";
import { readDocument } from "../config/files/yaml.ts";
import { bindForm, type Read } from "../config/form/values.ts";
import { systemClock } from "../model/clock.ts";
import { type Bind, describeBind } from "../model/listener.ts";
import { askAdmin } from "./ask.ts";
import { CommandFailure, configOption, exampleOf, exitCodes, usageFailure } from "./command.ts";
import { readOrRefuse } from "./input.ts";
import { print, printable } from "./terminal.ts";

interface Options {
  readonly config: string;
  readonly admin?: Bind;
  readonly ready?: boolean;
}

const answerMs = 3_000;

export function createCommand(): Command {
  return new Command("health")
    .description("Ask the running serve whether it is alive; for health checks of containers.")
    .addOption(configOption())
    .option("--admin <address>", "ask at this host:port instead of the configuration's admin.bind", parseBind)
    .option("--ready", "ask whether it is ready (/readyz), not only alive (/livez)")
    .addHelpText(...exampleOf("countersign health --ready"))
    .addHelpText("after", notes)
    .action(askHealth);
}

const notes = `
Of the configuration it reads admin.bind and nothing else. So it also
works while the file has a change that serve has refused.

Exit code 0: yes. 1: no, or no answer within 3 s. 2: the configuration does not
say where to ask.
`;

async function askHealth({ config: file, admin: given, ready = false }: Options): Promise<void> {
  const admin = given ?? (await readAdminBind(file));
  const path = ready ? "/readyz" : "/livez";
  const page = await askAdmin(admin, path, answerMs, systemClock);
  const said =
    typeof page === "string"
      ? `no answer (${page}). Does serve run with this configuration?`
      : `${page.status} ${printable(page.text)}`;
  const line = `${path} at ${describeBind(admin)}: ${said}`;
  if (typeof page === "string" || page.status !== 200) throw new CommandFailure(line, exitCodes.no);
  print(line);
}

function parseBind(text: string): Bind {
  const read = bindForm.read(text);
  if ("fix" in read) throw new InvalidArgumentError(`Please ${read.fix}.`);
  return read.value;
}

async function readAdminBind(file: string): Promise<Bind> {
  const bytes = await readOrRefuse(file, ": give the path of serve's configuration.");
  const read = readAdmin(bytes.toString("utf8"));
  if ("fix" in read) throw usageFailure(`${file}: admin.bind cannot be read: ${read.fix}.`);
  const { value: bind } = read;
  if (bind.kind === "tcp" && bind.port === 0) {
    throw usageFailure(`${file}: admin.bind takes any free port, so it cannot be asked: name one.`);
  }
  return bind;
}

/** The admin port of a configuration. The rest of the text is not checked. */
export function readAdmin(text: string): Read<Bind> {
  const { value, yamlProblems } = readDocument(text);
  if (yamlProblems.length > 0) return { fix: "correct the YAML" };
  const bind = (value as { readonly admin?: { readonly bind?: unknown } | null } | null | undefined)?.admin?.bind;
  return typeof bind === "string" ? bindForm.read(bind) : { fix: 'write admin: { bind: ":7412" }' };
}
