/** The bill of materials in each image: npm's, of the packages that its program is bundled from. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { buildImage, hasDocker, images, mustDocker } from "./docker.ts";

const name = hasDocker ? "the bill of materials" : "NOT TRIED, no Docker engine answers: the bill of materials";
const buildMs = 300_000;
const schema = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));

/** A file or a folder of an image, copied out of it. */
function copyOut(image: string, path: string): string {
  const folder = emptyFolder();
  const id = mustDocker("create", image);
  onTestFinished(() => void mustDocker("rm", id));
  mustDocker("cp", `${id}:${path}`, join(folder, "copy"));
  return join(folder, "copy");
}

describe.runIf(hasDocker)(name, () => {
  beforeAll(() => {
    buildImage("proxy", images.proxy);
    buildImage("simulator", images.simulator);
  }, buildMs);

  it.each(Object.values(images))(
    "lies where the label of %s says, and has each package whose code is in it",
    async (image) => {
      const path = mustDocker("image", "inspect", image, "--format", '{{index .Config.Labels "dev.countersign.sbom"}}');
      const text = readFileSync(copyOut(image, path), "utf8");
      expect(await schema.validate(text)).toBeNull();
      const { components } = JSON.parse(text);
      const listed = components.map((each: { name: string; version: string }) => `${each.name} ${each.version}`);

      const dist = copyOut(image, "/app/dist");
      const programs = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
      const found = programs.flatMap((file) => {
        const comments = readFileSync(join(dist, file), "utf8").matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm);
        return [...comments].map(([, name = ""]) => `${name} ${packages[`node_modules/${name}`].version}`);
      });
      expect(new Set(found).size).toBeGreaterThan(20);
      expect(listed).toEqual(expect.arrayContaining([...new Set(found)]));
    },
  );
});
