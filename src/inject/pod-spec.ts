import type { Document, YAMLMap } from "yaml";
import { itemsOf, listIn, parseItem, removeItem } from "./named-items.ts";
import type { InjectOptions } from "./options.ts";
import { describeContainer, describeVolumes, sidecarName, sidecarUrl } from "./sidecar.ts";

/** Kubernetes' own default. */
const defaultGraceSeconds = 30;

/** What Kubernetes reads as true. */
const yaml11True = /^(y|yes|true|on)$/i;

/** Why a pod cannot have the sidecar; undefined where it can. */
export function refusePodSpec(podSpec: YAMLMap): string | undefined {
  const applications = itemsOf(podSpec, "containers").filter((container) => container.get("name") !== sidecarName);
  if (applications.length === 0) return `has no container but ${sidecarName}, so there is no application to serve`;
  if (yaml11True.test(String(podSpec.get("hostNetwork")))) {
    return `has hostNetwork: everything on its node could call ${sidecarUrl} and spend money`;
  }
  if (!/^\d+$/.test(String(podSpec.get("terminationGracePeriodSeconds") ?? defaultGraceSeconds))) {
    return "has a terminationGracePeriodSeconds that is no number";
  }
  return undefined;
}

/** Adds the sidecar with its volumes, and its time to the pod's grace period; or replaces the one that is there. */
export function injectPodSpec(document: Document, podSpec: YAMLMap, wishes: InjectOptions): void {
  const { drainSeconds } = wishes;
  const wasThere = ["initContainers", "containers"]
    .map((list) => removeItem(podSpec, list, sidecarName))
    .includes(true);
  const graceSeconds = Number(podSpec.get("terminationGracePeriodSeconds") ?? defaultGraceSeconds);
  if (!wasThere) podSpec.set("terminationGracePeriodSeconds", String(graceSeconds + drainSeconds));
  // With another configuration it may take longer than the one before. What of it is the application's own is not known.
  else if (graceSeconds < drainSeconds) podSpec.set("terminationGracePeriodSeconds", String(drainSeconds));
  if (wishes.urlVariable !== undefined) setUrl(document, podSpec, wishes.urlVariable);
  const container = parseItem(describeContainer(wishes));
  if (wishes.isClassic) listIn(document, podSpec, "containers")?.items.push(container);
  // First, so that the application's own init containers can call it.
  else listIn(document, podSpec, "initContainers", "containers")?.items.unshift(container);
  for (const volume of describeVolumes(wishes).map(parseItem)) {
    removeItem(podSpec, "volumes", String(volume.get("name")));
    listIn(document, podSpec, "volumes")?.items.push(volume);
  }
}

/** A variable keeps its place, and a new one is the first: Kubernetes expands `$(NAME)` only in what comes after NAME. */
function setUrl(document: Document, podSpec: YAMLMap, name: string): void {
  for (const container of itemsOf(podSpec, "containers")) {
    const there = itemsOf(container, "env").filter((variable) => variable.get("name") === name);
    for (const variable of there) {
      variable.delete("valueFrom");
      variable.set("value", sidecarUrl);
    }
    if (there.length > 0) continue;
    listIn(document, container, "env")?.items.unshift(parseItem(`name: ${name}\nvalue: ${sidecarUrl}\n`));
  }
}
