import { Argument, Command } from "commander";
import { about } from "./command.ts";
import { print } from "./terminal.ts";

/** @param loadCommands every command of the program */
export function createCommand(loadCommands: () => Promise<readonly Command[]>): Command {
  return new Command("completion")
    .description("Print a script that completes commands and options in a shell.")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(writers)))
    .addHelpText("after", '\nFor example in ~/.bashrc: eval "$(countersign completion bash)"')
    .action(async (shell: keyof typeof writers) => print(writers[shell](await loadCommands())));
}

const writers = {
  bash: writeForBash,
  zsh: (commands: readonly Command[]) => `autoload -U +X bashcompinit && bashcompinit\n${writeForBash(commands)}`,
  fish: writeForFish,
};

/** A word that is no option is completed as a file's name. */
function writeForBash(commands: readonly Command[]): string {
  const optionsOf = (command: Command) => command.options.map(({ long }) => long).join(" ");
  return `_${about.name}() {
  local words
  case "\${COMP_WORDS[1]}" in
${commands.map((command) => `    ${command.name()}) words="${optionsOf(command)}" ;;`).join("\n")}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commands.map((command) => command.name()).join(" ")}"; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${about.name} ${about.name}`;
}

function writeForFish(commands: readonly Command[]): string {
  const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap((command) => [
    `complete -c ${about.name} -n __fish_use_subcommand -f -a ${command.name()} -d ${quote(command.description())}`,
    ...command.options.map(({ long, required, description }) => {
      const option = `-l ${long?.slice("--".length)}${required ? " -r" : ""} -d ${quote(description)}`;
      return `complete -c ${about.name} -n '__fish_seen_subcommand_from ${command.name()}' ${option}`;
    }),
  ]);
  return lines.join("\n");
}
