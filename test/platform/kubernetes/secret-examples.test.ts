/** What the examples with certificates and secrets from elsewhere have in addition to what chart-renders.test.ts checks of each example. */
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { rulesFile } from "../prometheus/rules.ts";
import { examples, openCharts } from "./charts.ts";
import { mounted, secretsOf } from "./fake-secrets.ts";
import { configurationOf, isOfHook, type Manifest, ofKind, parse, podOf, podTemplateOf } from "./manifests.ts";
import { withTools } from "./tools.ts";

const test = withTools("helm");
const charts = openCharts();

it("all examples are on the page, with every file, and the page names no other", () => {
  const page = readFileSync("docs/kubernetes-secrets.md", "utf8");
  const files = examples.flatMap((example) => example.files);
  expect(files.length).toBeGreaterThan(11);
  expect(files.filter((file) => !page.includes(file))).toEqual([]);
  const named = [...page.matchAll(/\b(?:examples|helm)\/[\w./-]*\w/g)].map(([path]) => path);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});

/** The objects of an example's files, and those of the chart with its values. */
function open(wanted: string) {
  const { args, variants } = examples.find(({ name }) => name === wanted) ?? expect.unreachable();
  return { variants, rendered: charts.objects("countersign", args) };
}

test.each(examples)("$name: makes each Secret, class and service account that the pods name", ({ name }) => {
  const { variants, rendered } = open(name);
  for (const variant of variants) {
    const objects = [...variant, ...rendered];
    const made = new Set(objects.flatMap(secretsMadeBy));
    const names = (kind: string) => objects.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);
    const specs = objects.filter((each) => !isOfHook(each, "test")).flatMap((each) => podTemplateOf(each)?.spec ?? []);
    expect(specs).toHaveLength(2);
    for (const { volumes, serviceAccountName } of specs) {
      for (const { secret, csi } of volumes) {
        if (secret) expect(made).toContain(secret.secretName);
        if (csi) expect(names("SecretProviderClass")).toContain(csi.volumeAttributes.secretProviderClass);
      }
      if (serviceAccountName) expect(names("ServiceAccount")).toContain(serviceAccountName);
    }
  }
});

test("the certificates have the names that the listener configures, and are renewed before the alert fires", () => {
  const { variants, rendered } = open("cert-manager");
  const [{ hosts, callers }] = parse(configurationOf(rendered))[0].listeners;
  const certificates = variants.flat();
  const of = (name: string) =>
    certificates.find((each) => each.kind === "Certificate" && each.metadata.name === name).spec;
  expect(of("countersign-listener").dnsNames).toEqual(hosts);
  expect(of("shop-client").uris).toEqual([callers.shop.certificate]);
  // Otherwise the alert would fire before each renewal.
  const [, days] =
    /"?expr"?: \|\n.*\n.*certificate_expiry.*\n\s*\) < (\d+) \* 86400/.exec(readFileSync(rulesFile, "utf8")) ?? [];
  for (const { kind, spec } of certificates) {
    if (kind === "Certificate" && !spec.isCA) expect(parseInt(spec.renewBefore, 10)).toBeGreaterThan(24 * Number(days));
  }
});

test("the injector's Job ends, its pods have no token except Vault's, and each injected file has its template", () => {
  const objects = open("vault-agent").rendered;
  const annotation = "vault.hashicorp.com/agent-pre-populate-only";
  const [job, deployment] = [podOf(objects, "Job"), podOf(objects)];
  expect(job.metadata.annotations[annotation]).toBe("true");
  const tested = ofKind(objects, "Pod").metadata.annotations;
  expect(tested).toMatchObject({ "vault.hashicorp.com/agent-inject": "false", "linkerd.io/inject": "disabled" });
  expect(deployment.metadata.annotations).not.toHaveProperty([annotation]);
  const injected = secretsOf(configurationOf(objects)).filter(({ path }) => path.startsWith(`${mounted}/blue/`));
  expect(injected).not.toEqual([]);
  for (const { spec, metadata } of [job, deployment]) {
    expect(spec.automountServiceAccountToken).toBe(false);
    const [{ projected }] = spec.volumes.filter(({ name }: Manifest) => name === "vault-token");
    expect(projected.sources[0].serviceAccountToken.audience).toBe("vault");
    for (const { path } of injected) {
      const file = path.slice(`${mounted}/blue/`.length);
      expect(metadata.annotations).toHaveProperty([`vault.hashicorp.com/agent-inject-secret-${file}`]);
      expect(metadata.annotations[`vault.hashicorp.com/agent-inject-template-${file}`]).toContain(`"${file}"`);
    }
  }
});

/** The Secrets that an operator makes from an object, or the object itself if it is a Secret. */
function secretsMadeBy({ kind, spec, metadata }: Manifest): string[] {
  if (kind === "Certificate") return [spec.secretName];
  if (kind === "ExternalSecret") return [spec.target.name];
  if (kind === "VaultStaticSecret") return [spec.destination.name];
  return kind === "Secret" ? [metadata.name] : [];
}
