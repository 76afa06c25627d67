import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type Ended,
  isInstalled,
  type Program,
  plainEnvironment,
  runSync,
  startProgram,
} from "../../../testkit/run-program.ts";

export const hasDocker = isInstalled("docker", "version");

/** A tag for this checkout, since one engine may serve several. The images are kept, so that the next build is fast. */
export const tag = `test-${createHash("sha256").update(process.cwd()).digest("hex").slice(0, 8)}`;

export const images = { proxy: `countersign:${tag}`, simulator: `countersign-simulator:${tag}` } as const;

/** Runs `docker` to its end. */
export function docker(...args: readonly string[]): Ended {
  return runSync("docker", args);
}

/** Runs `docker`, which must succeed, and returns its output. */
export function mustDocker(...args: readonly string[]): string {
  const { exitCode, stdout, stderr } = docker(...args);
  if (exitCode !== 0) throw new Error(`docker ${args.join(" ")} ended with ${exitCode}: ${stderr}`);
  return stdout.trim();
}

/** Builds a target of the Dockerfile, one at a time. @throws Error with the output if the build fails */
export function buildImage(target: string, name: string, ...options: readonly string[]): void {
  const args = [join(tmpdir(), `countersign-${tag}.lock`), "scripts/image/build.sh", target, name, ...options];
  const { exitCode, stdout, stderr } = runSync("flock", args);
  for (const [note] of stdout.matchAll(/^NOTE: .*\n/gm)) process.stdout.write(note);
  if (exitCode !== 0) throw new Error(`the image ${name} cannot be built:\n${stdout}${stderr}`);
}

/** Every file of an image, as `tar` lists them: `-rwxr-xr-x 0/0 1234 2026-01-01 00:00 app/dist/main.js`. */
export function listFiles(image: string): string[] {
  const id = mustDocker("create", image);
  onTestFinished(() => void docker("rm", id));
  const { exitCode, stdout, stderr } = runSync("sh", ["-c", `docker export ${id} | tar --numeric-owner -tv`]);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout.trim().split("\n");
}

/** Options with which the strictest platforms run a container. */
export const locked = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"];

/** Starts a container that goes away with the test. */
export function startContainer(...args: readonly string[]): string {
  const id = mustDocker("run", "--detach", ...locked, ...args);
  onTestFinished(() => void docker("rm", "--force", "--volumes", id));
  return id;
}

/** Follows a container's output. */
export function followLog(id: string): Program {
  return startProgram("docker", ["logs", "--follow", id], plainEnvironment());
}

/** Resolves when the engine has found the container healthy, by the image's own health check. */
export async function untilHealthy(id: string): Promise<void> {
  const filters = ["--filter", `container=${id}`, "--filter", "event=health_status", "--since", "1h"];
  const events = startProgram("docker", ["events", ...filters, "--format", "{{.Action}}"], plainEnvironment());
  await events.line((line) => line === "health_status: healthy");
}
