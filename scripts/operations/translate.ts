/** Names of the page, each with what stands for it in a real run: ports, and the folder. */
export type Names = ReadonlyMap<string, string>;

/** The ports of the page. A run takes others where these are taken. */
export const pagePorts = {
  listener: "7411",
  admin: "7412",
  status: "7413",
  api: "7421",
  login: "7422",
  redis: "6390",
  secondListener: "7511",
  secondAdmin: "7512",
  secondStatus: "7513",
} as const;

/** The folder in which the page's reader practises. */
export const pageFolder = "/home/you/practice";

/** A command of the page, for the run. */
export function toRun(command: string, names: Names): string {
  return replaceAll(command, names);
}

/** What the run printed, for the page: as a terminal shows it. */
export function toPage(output: string, names: Names): string {
  const shown = output.replaceAll("\r\n", "\n").trimEnd();
  return replaceAll(shown, new Map([...names].map(([ofPage, ofRun]) => [ofRun, ofPage])));
}

/** All in one pass, so that nothing is replaced twice; whole numbers only. */
function replaceAll(text: string, names: Names): string {
  const alternatives = [...names.keys()].map((name) =>
    /^\d+$/.test(name) ? `(?<!\\d)${name}(?!\\d)` : literally(name),
  );
  return text.replace(new RegExp(alternatives.join("|"), "g"), (name) => names.get(name) ?? name);
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
