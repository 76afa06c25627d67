/** The bill of materials in each image is npm's; test/docs/dependencies-doc.test.ts has what it lists. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { buildImage, hasDocker, images, mustDocker } from "./docker.ts";

const name = hasDocker ? "the bill of materials" : "NOT TRIED, no Docker engine answers: the bill of materials";
const buildMs = 300_000;
const schema = new Validation.JsonStrictValidator(Spec.Version.v1dot5);

/** A file of an image, copied out of it. */
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

  it.each(Object.values(images))("lies where the label of %s says", async (image) => {
    const path = mustDocker("image", "inspect", image, "--format", '{{index .Config.Labels "dev.countersign.sbom"}}');
    const text = readFileSync(copyOut(image, path), "utf8");
    expect(await schema.validate(text)).toBeNull();
    expect(JSON.parse(text).components.length).toBeGreaterThan(20);
  });
});
