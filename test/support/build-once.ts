import { execFileSync } from "node:child_process";

/** Tests that start the real command need it built, from the sources as they are. */
export default function setup(): void {
  execFileSync(process.execPath, ["scripts/build.mjs"], { stdio: "inherit" });
}
