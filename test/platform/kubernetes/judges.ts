import { stringify } from "yaml";
import { isBuiltIn, type Manifest, nameOf, podTemplateOf } from "./manifests.ts";
import { definitions, run } from "./tools.ts";

// Checks of manifests as in a cluster. Each function returns complaints, or an empty list.

/** The oldest version with native sidecars, and the newest that kubernetes-validate knows. */
export const kubernetesVersions = ["1.29", "1.37"] as const;

/** The complaints of all checks below. */
export function complaintsOf(objects: readonly Manifest[]): string[] {
  const ofOpenApi = kubernetesVersions.flatMap((version) => complaintsOfOpenApi(objects, version));
  return [...ofOpenApi, ...complaintsOfPodSecurity(objects), ...complaintsOfDefinitions(objects)];
}

function toStream(objects: readonly Manifest[]): string {
  return objects.map((object) => stringify(object)).join("---\n");
}

/** Against the OpenAPI schemas of a Kubernetes version; unknown fields are errors. */
export function complaintsOfOpenApi(objects: readonly Manifest[], version: string): string[] {
  const wanted = objects.filter(isBuiltIn);
  const args = ["-m", "kubernetes_validate", "--kubernetes-version", version, "--strict", "-"];
  const { stdout, stderr } = run("python3", args, toStream(wanted));
  const passed = stdout.split("\n").filter((line) => line.includes(` against version ${version}`));
  const lost = wanted.length - passed.filter((line) => line.startsWith("INFO")).length;
  return lost === 0 ? [] : [`${lost} of ${wanted.length} did not pass`, ...others(stdout, "INFO"), ...others(stderr)];
}

/** Against Pod Security `restricted`, with the cluster's own admission policy. */
export function complaintsOfPodSecurity(objects: readonly Manifest[]): string[] {
  return judge("pod-security", [], objects.filter(podTemplateOf));
}

/** Against the CustomResourceDefinitions of Prometheus Operator and External Secrets. */
export function complaintsOfDefinitions(objects: readonly Manifest[]): string[] {
  return judge(
    "custom-resources",
    [definitions],
    objects.filter((object) => !isBuiltIn(object)),
  );
}

/** Runs a program that prints a line for each object; an object without a line is a complaint. */
function judge(command: string, args: readonly string[], objects: readonly Manifest[]): string[] {
  const { stdout, stderr } = run(command, args, toStream(objects));
  const lost = objects.filter((object) => !stdout.includes(`${nameOf(object)} is allowed\n`)).map(nameOf);
  return [...lost, ...others(stdout, / is allowed$/), ...others(stderr)];
}

function others(output: string, but: string | RegExp = /^$/): string[] {
  const isMeant = (line: string) => (typeof but === "string" ? line.startsWith(but) : but.test(line));
  return output.split("\n").filter((line) => line !== "" && !isMeant(line));
}
