/** What accounts for each file of an image, on small folders in place of its layers. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { billPath, makeBill } from "../../scripts/image/sbom/bill.ts";

const records = "var/lib/dpkg/status.d";
const md5 = (text: string) => createHash("md5").update(text).digest("hex");

function openLayers() {
  const folder = mkdtempSync(join(tmpdir(), "countersign-bill-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const link = (path: string, target: string) => symlinkSync(target, join(folder, path));
  write("base/usr/lib/os-release", 'PRETTY_NAME="Distroless"\nID=debian\nVERSION_ID="12"\n');
  write("base/lib/libc.so.6", "the C library");
  write("base/etc/changed", "by the base image's makers");
  write("base/etc/passwd", "nonroot");
  write(
    `base/${records}/libc6`,
    "Package: libc6\nSource: glibc (2.36)\nVersion: 1:2.36-9+deb12u14\nArchitecture: amd64\nDescription: C\n more: of it\n",
  );
  write(
    `base/${records}/libc6.md5sums`,
    `${md5("the C library")}  lib/libc.so.6\n${md5("as packed")}  etc/changed\n${md5("")}  gone\n`,
  );
  link("base/etc/os-release", "../usr/lib/os-release");
  link("base/lib/libc.so", "/lib64/libc.so.6");
  link("base/lib64", "lib");
  link("base/etc/round", "round-again");
  link("base/etc/round-again", "round");
  write("runtime/usr/local/bin/node", "node");
  write("runtime/usr/local/bin/healthcheck", "healthcheck");
  write("own/app/dist/main.js", "main");
  mkdirSync(join(folder, "own/usr/local/bin"), { recursive: true });
  link("own/usr/local/bin/countersign", "/app/dist/main.js");
  return { folder, write };
}

function billOf(folder: string, change: object = {}) {
  return makeBill({
    name: "countersign",
    version: "0.1.0",
    description: "A proxy.",
    baseName: "registry.example:5000/base/cc:nonroot",
    base: `${folder}/base`,
    runtime: `${folder}/runtime`,
    own: `${folder}/own`,
    bundled: { redlock: ["main.js"] },
    locked: { "node_modules/redlock": { version: "5.0.0-beta.2", license: "MIT", integrity: "sha512-AAEC" } },
    versions: { ...process.versions, node: "24.1.0", openssl: "3.5.4+quic", nghttp3: "", modules: "137" },
    ...change,
  });
}

it("names one component for each file: a package's, unless its bytes are others; a link goes with what it leads to", () => {
  const { folder } = openLayers();
  const places = Object.fromEntries(
    billOf(folder).components.map(({ name, evidence }) => [
      name,
      evidence?.occurrences.map(({ location }) => location),
    ]),
  );
  expect(places).toMatchObject({
    libc6: ["/lib/libc.so", "/lib/libc.so.6", `/${records}/libc6`, `/${records}/libc6.md5sums`],
    "registry.example:5000/base/cc": [
      "/etc/changed",
      "/etc/os-release",
      "/etc/passwd",
      "/etc/round",
      "/etc/round-again",
      "/lib64",
      "/usr/lib/os-release",
    ],
    node: ["/usr/local/bin/node"],
    "countersign-healthcheck": ["/usr/local/bin/healthcheck"],
    countersign: ["/app/dist/main.js", "/usr/local/bin/countersign", billPath],
    redlock: ["/app/dist/main.js"],
  });
});

it("says what each is in the words of scanners", () => {
  const { folder } = openLayers();
  const { components } = billOf(folder);
  const find = (name: string) => components.find((each) => each.name === name);
  expect(find("debian")).toMatchObject({ type: "operating-system", version: "12" });
  expect(find("libc6")?.purl).toBe(
    "pkg:deb/debian/libc6@1:2.36-9%2Bdeb12u14?arch=amd64&distro=debian-12&upstream=glibc",
  );
  expect(find("node")).toMatchObject({
    purl: "pkg:generic/node@24.1.0",
    cpe: expect.stringContaining("nodejs:node.js:24.1.0:"),
  });
  expect(find("openssl")).toMatchObject({
    version: "3.5.4+quic",
    cpe: expect.stringContaining("openssl:openssl:3.5.4:"),
  });
  expect(find("redlock")).toMatchObject({
    purl: "pkg:npm/redlock@5.0.0-beta.2",
    hashes: [{ alg: "SHA-512", content: "000102" }],
  });
  expect(find("registry.example:5000/base/cc")).toMatchObject({ version: "nonroot" });
  expect([find("modules"), find("nghttp3")]).toEqual([undefined, undefined]);
});

it("is the same wherever the same image is made, and another for another one", () => {
  const [one, other] = [openLayers(), openLayers()];
  expect(billOf(other.folder)).toEqual(billOf(one.folder));
  const { serialNumber } = billOf(one.folder);
  expect(serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  one.write("runtime/usr/local/bin/node", "another node");
  expect(billOf(one.folder).serialNumber).not.toBe(serialNumber);
});

it("is refused where something is unaccounted for", () => {
  const { folder, write } = openLayers();
  expect(() => billOf(folder, { locked: {} })).toThrow("lacks the version, licence or digest of redlock");
  write("runtime/usr/local/bin/curl", "curl");
  expect(() => billOf(folder)).toThrow("no component accounts for /usr/local/bin/curl");
  rmSync(join(folder, "base", records), { recursive: true });
  expect(() => billOf(folder)).toThrow("no records of Debian's packages");
  rmSync(join(folder, "base/etc/os-release"));
  expect(() => billOf(folder)).toThrow("no /etc/os-release");
});
