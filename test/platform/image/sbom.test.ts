/** The bill of materials in each image, held against the schema, the image's files and what its programs say of themselves. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Bill } from "../../../scripts/image/sbom/component.ts";
import { type Account, billOf } from "../../../scripts/image/sbom/of-image.ts";
import { plainEnvironment } from "../../../testkit/run-program.ts";
import { buildImage, hasDocker, images, listFiles, mustDocker } from "./docker.ts";

const name = hasDocker ? "the bill of materials" : "NOT TRIED, no Docker engine answers: the bill of materials";
const buildMs = 300_000;
const schema = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));

/** Names and versions of the components whose package URL begins so. */
function listed({ components }: Bill, purl: string): string[] {
  return components.flatMap((each) => (each.purl?.startsWith(purl) ? [`${each.name} ${each.version}`] : [])).sort();
}

/** A folder of an image, copied out of it. */
function copyOut(image: string, path: string): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-image-files-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const id = mustDocker("create", image);
  onTestFinished(() => void mustDocker("rm", id));
  mustDocker("cp", `${id}:${path}`, join(folder, "copy"));
  return join(folder, "copy");
}

const accounts = new Map<string, Account>();

function accountOf(image: string): Account {
  const account = accounts.get(image) ?? billOf(image);
  accounts.set(image, account);
  return account;
}

describe.runIf(hasDocker)(name, () => {
  beforeAll(() => {
    buildImage("proxy", images.proxy);
    buildImage("simulator", images.simulator);
  }, buildMs);

  it.each(Object.values(images))("is valid, and accounts for each file of %s, and for nothing else", async (image) => {
    const { bill, files, unlisted, absent } = accountOf(image);
    expect(await schema.validate(JSON.stringify(bill))).toBeNull();
    expect({ unlisted, absent }).toEqual({ unlisted: [], absent: [] });
    // Counted by another program too. An engine adds up to six files of its own.
    const counted = listFiles(image).filter((line) => !line.startsWith("d")).length;
    expect(counted - files).toBeGreaterThanOrEqual(0);
    expect(counted - files).toBeLessThanOrEqual(6);
    expect(bill.metadata).toMatchObject({
      component: { type: "container", name: image.split(":")[0] },
      properties: [{ value: mustDocker("image", "inspect", image, "--format", "{{.Id}}") }],
    });
  });

  it("has Debian's packages, and Node's parts, as they say themselves", () => {
    const { bill } = accountOf(images.proxy);
    const records = copyOut(images.proxy, "/var/lib/dpkg/status.d");
    const texts = readdirSync(records)
      .filter((file) => !file.endsWith(".md5sums"))
      .map((file) => readFileSync(join(records, file), "utf8"));
    const field = (text: string, key: string) =>
      text
        .split("\n")
        .find((line) => line.startsWith(`${key}: `))
        ?.slice(key.length + 2);
    const debian = texts.map((text) => `${field(text, "Package")} ${field(text, "Version")}`);
    expect(debian).toContainEqual(expect.stringMatching(/^libc6 2\./));
    expect(listed(bill, "pkg:deb/debian/")).toEqual(debian.sort());

    const print = ["--entrypoint", "node", images.proxy, "--print", "JSON.stringify(process.versions)"];
    const { node, openssl, v8, zlib, nghttp2, undici } = JSON.parse(mustDocker("run", "--rm", ...print));
    const versions = Object.entries({ node, openssl, v8, zlib, nghttp2, undici });
    for (const [part, version] of versions)
      expect(bill.components).toContainEqual(expect.objectContaining({ name: part, version }));
    const ofNode = bill.dependencies.find(({ ref }) => ref === `pkg:generic/node@${node}`)?.dependsOn;
    expect(ofNode).toContain(`node#pkg:generic/openssl@${openssl.replace("+", "%2B")}`);
  });

  it.each(Object.values(images))("has the packages whose code is bundled into the program of %s", (image) => {
    const { bill } = accountOf(image);
    const dist = copyOut(image, "/app/dist");
    const programs = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
    const found = programs.flatMap((file) =>
      [...readFileSync(join(dist, file), "utf8").matchAll(/^\/\/ (node_modules\/(?:@[^/]+\/)?[^/]+)/gm)].map(
        ([, path = ""]) => path,
      ),
    );
    const bundled = [...new Set(found)].map(
      (path) => `${path.slice("node_modules/".length)} ${packages[path].version}`,
    );
    const ofNode = new Set(bill.dependencies.find(({ ref }) => ref.startsWith("pkg:generic/node@"))?.dependsOn);
    const npm = bill.components.filter((each) => each.purl?.startsWith("pkg:npm/") && !ofNode.has(each["bom-ref"]));
    const others = npm.filter((each) => each.type === "library").map((each) => `${each.name} ${each.version}`);
    expect(bundled.length).toBeGreaterThan(20);
    expect(others.sort()).toEqual(bundled.sort());
  });

  it("is attested to the image of each platform, by its digest", () => {
    const folder = mkdtempSync(join(tmpdir(), "countersign-attest-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const platforms = ["amd64", "arm64", "unknown"].map((architecture) => ({
      digest: `sha256:${architecture}`,
      platform: { architecture, os: architecture === "unknown" ? "unknown" : "linux" },
    }));
    const engine = execFileSync("which", ["docker"], { encoding: "utf8" }).trim();
    const programs = {
      // A registry's part; the rest is the engine's.
      docker: `case "$1 $2" in
        "buildx imagetools") echo '${JSON.stringify({ manifests: platforms })}' ;;
        "pull --quiet") ;;
        "image inspect") exec ${engine} image inspect ${images.proxy} ;;
        *) exec ${engine} "$@" ;;
      esac`,
      cosign: `grep -c '"pkg:generic/node@' "$6" >>${folder}/attested; shift 6; echo "$@" >>${folder}/attested`,
    };
    for (const [program, text] of Object.entries(programs)) {
      writeFileSync(join(folder, program), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    }
    const env = plainEnvironment({ PATH: `${folder}:${process.env["PATH"]}` });
    execFileSync("scripts/image/attach-sbom.sh", ["registry.example/countersign@sha256:list"], { env });
    const expected = ["amd64", "arm64"].flatMap((each) => ["1", `registry.example/countersign@sha256:${each}`]);
    expect(readFileSync(join(folder, "attested"), "utf8").trim().split("\n")).toEqual(expected);
  });

  it("is not given out where a file of the image is in no component", () => {
    const added = `${images.proxy}-added`;
    const id = mustDocker("create", images.proxy);
    onTestFinished(() => void mustDocker("rm", id));
    mustDocker("cp", "LICENSE", `${id}:/usr/local/bin/curl`);
    mustDocker("commit", id, added);
    onTestFinished(() => void mustDocker("image", "rm", added));
    const args = ["scripts/image/sbom/main.ts", added, join(tmpdir(), "never-written.cdx.json")];
    const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", ...args], { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`${added} has files that no component accounts for: /usr/local/bin/curl\n`);
  });
});
