import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stringify } from "yaml";
import { version } from "../../../src/version.ts";
import { type Manifest, parse } from "./manifests.ts";
import { run } from "./tools.ts";

export const page = readFileSync("docs/kubernetes.md", "utf8");

/** A block of the page by the word after its language. */
export function block(word: string): string {
  const [, text] = new RegExp(`^\`\`\`yaml ${word}\n(.*?)^\`\`\``, "ms").exec(page) ?? [];
  if (text === undefined) throw new Error(`the page has no block ${word}`);
  return text;
}

/** The page's commands below a heading, block by block. */
export function commandsBelow(heading: string): readonly string[] {
  const [, section] = new RegExp(`^## ${heading}\n(.*?)(?=^## |(?![^]))`, "ms").exec(page) ?? [];
  if (section === undefined) throw new Error(`the page has no heading ${heading}`);
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = ""]) => text);
}

/**
 * Runs the commands of a page's `sh` blocks, one after another, in a folder with the files of the repository and the reader.
 * Cluster and images are replaced: kubectl records the objects that it would have sent, Helm renders instead of installing,
 * and Node runs the image's program.
 *
 * @param own the reader's files, by name
 * @param running workloads in the cluster, for `kubectl patch` and `kubectl set env`; one of a kind
 * @returns the objects that a cluster would have got, in this order, and the files that are left in the folder
 */
export function typePage(page: string, own: Readonly<Record<string, string>>, running: readonly Manifest[]) {
  const folder = mkdtempSync(join(tmpdir(), "countersign-page-"));
  const aside = mkdtempSync(join(tmpdir(), "countersign-aside-"));
  try {
    for (const name of ["deploy", "helm"]) symlinkSync(resolve(name), join(folder, name));
    write(folder, own);
    const workloads = running.map((each) => [`${each.kind.toLowerCase()}.yaml`, stringify(each)]);
    write(aside, { ...Object.fromEntries(workloads), "sent.yaml": "", ...standIns });
    const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = ""]) => text);
    const start = `cd ${folder}; export ASIDE=${aside} MAIN=${resolve("dist/main.js")} TOOLS="$PATH" PATH="${aside}:$PATH"`;
    write(aside, { commands: [start, ...blocks].join("\n") });
    const { exitCode, stderr } = run("bash", ["-eu", "-o", "pipefail", join(aside, "commands")]);
    const objects = parse(readFileSync(join(aside, "sent.yaml"), "utf8"));
    return { exitCode, stderr, objects, left: readdirSync(folder).sort() };
  } finally {
    for (const made of [folder, aside]) rmSync(made, { recursive: true });
  }
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o755 });
}

const standIns = {
  docker: `#!/bin/sh -eu
[ "$1" = run ] || exit 0
until [ "$1" = REGISTRY/countersign:${version} ]; do shift; done
shift
exec node "$MAIN" "$@"
`,
  helm: `#!/bin/sh -eu
PATH=$TOOLS
case $1 in
install) shift; helm template "$@" | tee "$ASIDE/installed-$1.yaml" >>"$ASIDE/sent.yaml" ;;
test) grep -q 'helm.sh/hook: test' "$ASIDE/installed-$2.yaml" ;;
*) exit 1 ;;
esac
`,
  kubectl: `#!/bin/sh -eu
PATH=$TOOLS
send() { { echo ---; "$@"; } >>"$ASIDE/sent.yaml"; }
case $1 in
create) send kubectl "$@" --dry-run=client --output yaml ;;
apply) send cat "$3" ;;
patch) kind=$2; shift 3; send kubectl patch --local --filename "$ASIDE/$kind.yaml" "$@" --output yaml ;;
set) kind=\${3%/*}; shift 3; send kubectl set env --local --filename "$ASIDE/$kind.yaml" "$@" --output yaml ;;
label) grep -q "name: $3$" "$ASIDE/sent.yaml" ;;
rollout | exec | port-forward) ;;
*) exit 1 ;;
esac
`,
};
