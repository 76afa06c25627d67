import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { exampleSites } from "../../../simulator/src/example-sites.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { docker, followLog, images, mustDocker, startContainer, untilHealthy } from "./docker.ts";

/** A proxy and the simulated service in containers, both at work. */
export async function openStage() {
  const folder = makeFolder();
  const network = mustDocker("network", "create", `countersign-test-${process.pid}`);
  onTestFinished(() => void docker("network", "rm", network));
  const frequently = ["--network", network, "--health-interval", "1s"];
  const service = startContainer(...frequently, "--network-alias", "simulator", images.simulator);
  await untilHealthy(service);
  const mounts = [`${folder}/configuration:/etc/countersign:ro`, `${folder}/secrets:/run/secrets/countersign:ro`];
  const serve = startContainer(...frequently, ...mounts.flatMap((mount) => ["--volume", mount]), images.proxy);
  const log = followLog(serve);
  await log.line((line) => line.includes('"event":"started"'));
  return { service, serve, log };
}

/** Secrets that only the container's user may read; where we may not give files away, everybody may, which is warned of. */
function makeFolder(): string {
  const folder = emptyFolder();
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "configuration"));
  copyFileSync("test/platform/image/countersign.yaml", join(folder, "configuration/countersign.yaml"));
  const [set] = exampleSites[0]?.credentials ?? [];
  const isRoot = process.getuid?.() === 0;
  for (const [name, text] of Object.entries({
    "client-id": set?.clientId,
    "client-secret": set?.clientSecret,
    audience: set?.audience,
  })) {
    const file = join(folder, "secrets/blue", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, String(text), { mode: isRoot ? 0o400 : 0o444 });
  }
  if (isRoot) execFileSync("chown", ["-R", "65532:65532", folder]);
  return folder;
}
