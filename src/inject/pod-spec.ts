import type { YAMLMap } from "yaml";
import { itemsOf, parseItem, putItem, removeItem } from "./named-items.ts";
import { describeContainer, describeVolumes, drainSeconds, sidecarName, sidecarUrl } from "./sidecar.ts";
import type { InjectWishes } from "./wishes.ts";

/** Kubernetes' own default. */
const defaultGraceSeconds = 30;

/** Why a pod cannot have the sidecar; undefined where it can. */
export function refusePodSpec(podSpec: YAMLMap): string | undefined {
  const applications = itemsOf(podSpec, "containers").filter((container) => container.get("name") !== sidecarName);
  if (applications.length === 0) return `has no container but ${sidecarName}, so there is no application to serve`;
  if (podSpec.get("hostNetwork") === "true") {
    return `has hostNetwork: everything on its node could call ${sidecarUrl} and spend money`;
  }
  if (!/^\d+$/.test(String(podSpec.get("terminationGracePeriodSeconds") ?? defaultGraceSeconds))) {
    return "has a terminationGracePeriodSeconds that is no number";
  }
  return undefined;
}

/** Adds the sidecar with its volumes, and its time to the pod's grace period; or replaces the one that is there. */
export function injectPodSpec(podSpec: YAMLMap, wishes: InjectWishes): void {
  const wasThere = ["initContainers", "containers"]
    .map((list) => removeItem(podSpec, list, sidecarName))
    .includes(true);
  if (!wasThere) {
    const own = Number(podSpec.get("terminationGracePeriodSeconds") ?? defaultGraceSeconds);
    podSpec.set("terminationGracePeriodSeconds", String(own + drainSeconds));
  }
  if (wishes.urlVariable !== undefined) setUrl(podSpec, wishes.urlVariable);
  const container = parseItem(describeContainer(wishes));
  if (wishes.isClassic) putItem(podSpec, "containers", container, "last");
  // First, so that the application's own init containers can call it.
  else putItem(podSpec, "initContainers", container, "first", "containers");
  for (const volume of describeVolumes(wishes).map(parseItem)) {
    removeItem(podSpec, "volumes", String(volume.get("name")));
    putItem(podSpec, "volumes", volume, "last");
  }
}

function setUrl(podSpec: YAMLMap, name: string): void {
  for (const container of itemsOf(podSpec, "containers")) {
    removeItem(container, "env", name);
    putItem(container, "env", parseItem(`name: ${name}\nvalue: ${sidecarUrl}\n`), "last");
  }
}
