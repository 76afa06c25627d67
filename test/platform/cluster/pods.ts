import { readdirSync, readFileSync } from "node:fs";
import { type Program, plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import type { Reader } from "./reader.ts";

/** An answer that the shop's application noted (application/orders.mjs). */
export interface Noted {
  /** Only in what notes.mjs keeps. */
  readonly pod?: string;
  readonly when: "start" | "running" | "end" | "once";
  readonly status?: number;
  readonly outcome?: string;
  readonly error?: string;
}

/** An object as the cluster returns it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
type Found = any;

/** The pods of a workload that are not being deleted, oldest first. */
export function podsOf(reader: Reader, selector: string): Found[] {
  const pods: Found[] = reader.get(`pods --selector ${selector} --sort-by .metadata.creationTimestamp`).items;
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** Follows a container's output from its start until it ends. */
export function follow(reader: Reader, pod: string, container: string): Program {
  const args = ["logs", "--follow", "--namespace", reader.namespace, pod, "--container", container];
  return startProgram("kubectl", args, plainEnvironment());
}

export function notesOf(log: string): readonly Noted[] {
  return log.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
}

/** The result of the first call, once it is known. */
export async function firstNote(reader: Reader, pod: Found, container: string): Promise<Noted> {
  return JSON.parse(await follow(reader, pod.metadata.name, container).line((line) => line.startsWith("{")));
}

/** The lines of Countersign's log with this event. */
export function eventsOf(reader: Reader, pod: string, event: string): readonly Record<string, unknown>[] {
  const lines = reader.type(`kubectl logs ${pod} --container countersign`).split("\n");
  return lines
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
    .filter((line) => line.event === event);
}

/** The states of a pod's containers by name, Countersign's among them. */
export function statesOf(pod: Found): Record<string, Found> {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status;
  return Object.fromEntries([...initContainerStatuses, ...containerStatuses].map((each: Found) => [each.name, each]));
}

/** The process id of a pod's Countersign: this test sees the node's processes. */
export function processOf(pod: Found): number {
  const found = readdirSync("/proc").find((id) => {
    if (!/^\d+$/.test(id)) return false;
    const [cgroups, command] = ["cgroup", "cmdline"].map((name) => readIfThere(`/proc/${id}/${name}`));
    return cgroups?.includes(pod.metadata.uid) && command?.includes("/app/dist/main.js");
  });
  if (found === undefined) throw new Error("the pod has no process of Countersign");
  return Number(found);
}

/** The file's text, or an empty one: its process may have ended meanwhile. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
