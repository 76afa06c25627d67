/** The examples with certificates and secrets from elsewhere: each renders, is accepted, and has every file that its configuration reads. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { rulesFile } from "../prometheus/rules.ts";
import { openCharts } from "./charts.ts";
import { check, mounted, secretsOf } from "./fake-secrets.ts";
import { complaintsOf } from "./judges.ts";
import {
  configurationOf,
  isOfHook,
  type Manifest,
  ofKind,
  parse,
  podOf,
  podTemplateOf,
  sidecarOf,
} from "./manifests.ts";
import { withTools } from "./tools.ts";

const test = withTools("helm", "pod-security", "custom-resources", "kubernetes-validate");
const charts = openCharts();

const folder = "examples/kubernetes";
const examples = readdirSync(folder).map((name) => {
  const files = readdirSync(`${folder}/${name}`).filter((file) => file !== "values.yaml");
  return { name, variants: files.map((file) => parse(readFileSync(`${folder}/${name}/${file}`, "utf8"))) };
});

it("all examples are on the page, with every file, and the page names no other", () => {
  const page = readFileSync("docs/kubernetes-secrets.md", "utf8");
  const files = examples.flatMap(({ name }) =>
    readdirSync(`${folder}/${name}`).map((file) => `${folder}/${name}/${file}`),
  );
  expect(files.length).toBeGreaterThan(11);
  expect(files.filter((file) => !page.includes(file))).toEqual([]);
  const named = [...page.matchAll(/\b(?:examples|helm)\/[\w./-]*\w/g)].map(([path]) => path);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});

/** The chart rendered with an example's values, once for all tests. */
const rendered = new Map<string, readonly Manifest[]>();
function render(name: string): readonly Manifest[] {
  const args = ["--values", `${folder}/${name}/values.yaml`, "--namespace", "payments"];
  const objects = rendered.get(name) ?? charts.objects("countersign", args);
  rendered.set(name, objects);
  return objects;
}

describe.each(examples)("$name", ({ name, variants }) => {
  test("is accepted by a cluster with these operators", () => {
    expect(complaintsOf([...variants.flat(), ...render(name)])).toEqual([]);
  });

  test("has a configuration that Countersign accepts", () => {
    const verdict = check(configurationOf(render(name)));
    expect(verdict).toMatchObject({ valid: true });
    const warnings = verdict.warnings.filter(({ message }: Manifest) => !/anyone|reach/.test(message));
    expect(warnings).toEqual([]);
  });

  test("makes each Secret, class and service account that the pods name", () => {
    for (const variant of variants) {
      const objects = [...variant, ...render(name)];
      const made = new Set(objects.flatMap(secretsMadeBy));
      const names = (kind: string) => objects.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);
      const specs = objects
        .filter((each) => !isOfHook(each, "test"))
        .flatMap((each) => podTemplateOf(each)?.spec ?? []);
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

  test("mounts or injects every folder that the configuration reads, as a whole", () => {
    const objects = render(name);
    const paths = secretsOf(configurationOf(objects)).map(({ path }) => path);
    // The example of a service account has its token only.
    expect(paths.length).toBeGreaterThan(name === "service-account" ? 0 : 1);
    for (const each of objects.filter((object) => podTemplateOf(object) && !isOfHook(object, "test"))) {
      const { spec, metadata } = podTemplateOf(each);
      const { volumeMounts } = sidecarOf({ spec });
      for (const mount of volumeMounts) expect(mount).not.toHaveProperty("subPath");
      const injected = metadata.annotations["vault.hashicorp.com/secret-volume-path"];
      const folders = [...volumeMounts.map(({ mountPath }: Manifest) => mountPath), ...(injected ? [injected] : [])];
      const lost = paths.filter((path) => !folders.some((place: string) => path.startsWith(`${place}/`)));
      expect(lost).toEqual([]);
      for (const path of paths.filter((file) => file.startsWith(`${injected}/`))) {
        const file = path.slice(`${mounted}/blue/`.length);
        expect(metadata.annotations).toHaveProperty([`vault.hashicorp.com/agent-inject-secret-${file}`]);
        expect(metadata.annotations[`vault.hashicorp.com/agent-inject-template-${file}`]).toContain(`"${file}"`);
      }
    }
  });
});

test("the certificates have the names that the listener configures, and are renewed before the alert fires", () => {
  const objects = render("cert-manager");
  const [{ hosts, callers }] = parse(configurationOf(objects))[0].listeners;
  const certificates = parse(readFileSync(`${folder}/cert-manager/certificates.yaml`, "utf8"));
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

test("the injector's Job ends, and its pods have no token except Vault's", () => {
  const objects = render("vault-agent");
  const annotation = "vault.hashicorp.com/agent-pre-populate-only";
  const [job, deployment] = [podOf(objects, "Job"), podOf(objects)];
  expect(job.metadata.annotations[annotation]).toBe("true");
  const tested = ofKind(objects, "Pod").metadata.annotations;
  expect(tested).toMatchObject({ "vault.hashicorp.com/agent-inject": "false", "linkerd.io/inject": "disabled" });
  expect(deployment.metadata.annotations).not.toHaveProperty([annotation]);
  for (const { spec } of [job, deployment]) {
    expect(spec.automountServiceAccountToken).toBe(false);
    const [{ projected }] = spec.volumes.filter(({ name }: Manifest) => name === "vault-token");
    expect(projected.sources[0].serviceAccountToken.audience).toBe("vault");
    expect(sidecarOf({ spec }).volumeMounts.map(({ name }: Manifest) => name)).not.toContain("vault-token");
  }
});

/** The Secrets that an operator makes from an object, or the object itself if it is a Secret. */
function secretsMadeBy({ kind, spec, metadata }: Manifest): string[] {
  if (kind === "Certificate") return [spec.secretName];
  if (kind === "ExternalSecret") return [spec.target.name];
  if (kind === "VaultStaticSecret") return [spec.destination.name];
  return kind === "Secret" ? [metadata.name] : [];
}
