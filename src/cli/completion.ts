import { Argument, Command } from "commander";
import { about } from "./command.ts";
import { print } from "./terminal.ts";

/** @param loadCommands every command of the program */
export function createCommand(loadCommands: () => Promise<readonly Command[]>): Command {
  return new Command("completion")
    .description("Print a script that completes commands, options and fixed values in a shell.")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(writers)))
    .addHelpText("after", '\nFor example in ~/.zshrc: eval "$(countersign completion zsh)"')
    .action(async (shell: keyof typeof writers) => print(writers[shell](await loadCommands())));
}

const writers = {
  bash: writeForBash,
  zsh: (commands: readonly Command[]) => `${startOfZsh}\n${writeForBash(commands)}`,
  fish: writeForFish,
};

/** macOS' own ~/.zshrc does not start zsh's completion, without which there is no `compdef` for bash's. */
const startOfZsh = "autoload -U compinit bashcompinit; (( $+functions[compdef] )) || compinit; bashcompinit";

/** A word that is neither an option nor one of few values is completed as a file's name. */
function writeForBash(commands: readonly Command[]): string {
  const cases = commands.flatMap((command) => [
    // After an option that takes a value, no other option may follow.
    ...command.options
      .filter(({ required }) => required)
      .map(({ long, argChoices = [] }) => `"${command.name()} ${long}") words="${argChoices.join(" ")}" ;;`),
    `"${command.name()} "*) words="${[...command.options.map(({ long }) => long), ...valuesOf(command)].join(" ")}" ;;`,
  ]);
  const names = commands.map((command) => command.name()).join(" ");
  return `_${about.name}() {
  local words
  case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]}" in
${[...cases, `"help "*) words="${names}" ;;`].map((each) => `    ${each}`).join("\n")}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${names} help"; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${about.name} ${about.name}`;
}

/** The values of a command's own argument, if these are few. */
function valuesOf({ registeredArguments }: Command): readonly string[] {
  return registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
}

function writeForFish(commands: readonly Command[]): string {
  const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap((command) => [
    `complete -c ${about.name} -n __fish_use_subcommand -f -a ${command.name()} -d ${quote(command.description())}`,
    ...command.options.map(({ long, required, argChoices, description }) => {
      const values = argChoices === undefined ? "" : ` -f -a ${quote(argChoices.join(" "))}`;
      const option = `-l ${long?.slice("--".length)}${required ? " -r" : ""}${values} -d ${quote(description)}`;
      return `complete -c ${about.name} -n '__fish_seen_subcommand_from ${command.name()}' ${option}`;
    }),
    ...argumentsOf(command.name(), valuesOf(command)),
  ]);
  return [
    ...lines,
    ...argumentsOf(
      "help",
      commands.map((command) => command.name()),
    ),
  ].join("\n");

  function argumentsOf(command: string, values: readonly string[]): readonly string[] {
    const condition = `'__fish_seen_subcommand_from ${command}'`;
    return values.length === 0 ? [] : [`complete -c ${about.name} -n ${condition} -f -a ${quote(values.join(" "))}`];
  }
}
