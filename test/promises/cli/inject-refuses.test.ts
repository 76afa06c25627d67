import { describe, expect, it } from "vitest";
import { application, classic, deployment, run } from "./inject-run.ts";

describe("refuses with exit code 2, and prints nothing to standard output", () => {
  const job = "kind: Job\nmetadata: { name: import }\nspec: { template: { spec: { containers: [{ name: a }] } } }\n";

  it.each([
    {
      what: "no workload",
      manifest: "kind: Service\n",
      says: "-: there is none of Deployment, StatefulSet, DaemonSet, Job, CronJob, Pod",
    },
    { what: "nothing", manifest: "", says: "-: there is none of Deployment" },
    { what: "what is not YAML", manifest: "kind: Deployment\n  a: [", says: "-: Nested mappings are not allowed" },
    {
      what: "a workload without pods",
      manifest: "kind: Job\nspec: {}\n",
      says: "-: Job without a name has no spec.template.spec",
    },
    {
      what: "a pod without an application",
      manifest: deployment("containers: []"),
      says: "Deployment orders has no container but countersign",
    },
    {
      what: "the gateway itself",
      manifest: deployment("containers: [{ name: countersign }]"),
      says: "no application to serve",
    },
    ...["true", "True", "yes", "Y", "ON"].map((yes) => ({
      what: `a pod on its node's network: ${yes}`,
      manifest: deployment(`hostNetwork: ${yes}\n${application}`),
      says: "everything on its node could call",
    })),
    {
      what: "what it would refuse alone, in a List",
      manifest: JSON.stringify({ kind: "List", items: [{ kind: "Service" }, { kind: "Job" }] }),
      says: "Job without a name has no spec.template.spec",
    },
    {
      what: "a grace period of nonsense",
      manifest: deployment(`terminationGracePeriodSeconds: 5m\n${application}`),
      says: "is no number",
    },
    {
      what: "a Job with a classic sidecar",
      args: classic,
      manifest: job,
      says: "Job import would never end with a classic sidecar",
    },
    ...["Never", "OnFailure"].map((policy) => ({
      what: `a Pod that ends with a classic sidecar: ${policy}`,
      args: classic,
      manifest: `kind: Pod\nmetadata: { name: once }\nspec: { restartPolicy: ${policy}, containers: [{ name: a }] }\n`,
      says: "Pod once would never end with a classic sidecar",
    })),
    ...["no", "off", '""'].map((value) => ({
      what: `an opt-out that is none: ${value}`,
      manifest: `kind: Job\nmetadata: { name: import, annotations: { countersign.dev/inject: ${value} } }\n`,
      says: 'write "true" or "false"',
    })),
    ...["a b", "a in b", "a in ()", "a=b,", "a>1", "a=b c", "a,,b", "!a=b"].map((selector) => ({
      what: `a selector that is none: ${selector}`,
      args: ["--selector", selector],
      manifest: job,
      says: "Write it like kubectl's",
    })),
    {
      what: "a selector of nothing, and says what there is",
      args: ["-l", "a=b"],
      manifest: ["one", "two", "three", "four", "five", "six"]
        .map((name, n) =>
          job.replace(/^metadata:.*$/m, `metadata: { name: ${name}, labels: { app: ${name}, n: "${n}" } }`),
        )
        .concat(job.replace(/^metadata:.*$/m, "metadata: { name: last }"))
        .reverse()
        .join("---\n"),
      says: "-: --selector matches none of the workloads, by their own labels: Job last (no labels), Job six (app=six,n=5), Job five (app=five,n=4), Job four (app=four,n=3), Job three (app=three,n=2) and 2 more",
    },
    {
      what: "a selector where there is no workload",
      args: ["-l", "a=b"],
      manifest: "kind: Secret",
      says: "-: there is none of Deployment",
    },
    { what: "a name that is none", args: ["--secret", "A b"], manifest: job, says: "argument 'A b' is invalid" },
  ])("$what", ({ manifest, args = [], says }) => {
    const { exitCode, stdout, stderr } = run(["-f", "-", ...args], manifest);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(says);
  });

  it("a file that is not there", () => {
    const { exitCode, stdout, stderr } = run(["-f", "nothing.yaml"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain("nothing.yaml cannot be read (ENOENT)");
  });

  it.each([
    { file: "-", manifest: "#".repeat(16 * 1_048_576 + 1), says: "Standard input is longer than 16 MiB." },
    { file: "/dev/zero", says: "/dev/zero is longer than 16 MiB. Give the path of a manifest" },
  ])("a manifest from $file that has no sensible end", ({ file, manifest, says }) => {
    const { exitCode, stdout, stderr } = run(["-f", file], manifest);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(says);
  });

  it("everything at once", () => {
    const { stderr } = run(["-f", "-", ...classic], `${job}---\n${deployment("containers: []")}`);
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(/^-: Job import/),
      expect.stringMatching(/^-: Deployment orders/),
      "",
      "Nothing was injected.",
      "",
    ]);
  });
});
