import { join } from "node:path";
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { isOpen } from "../../../testkit/demo-run.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { startServe } from "../../../testkit/run-program.ts";
import { stageDoctor } from "./doctor-stage.ts";

// Signals that must neither end a running proxy nor open an inspector in it (row 57, product section 1). The command is the built one.

it("opens no inspector on SIGUSR1, and continues to serve", async () => {
  const { folder, file } = await stageDoctor();
  const socketPath = join(folder.path, "app.sock");
  // An inspector would listen here.
  const inspectorPort = await freePort();
  const { child, stderr } = await startServe(file, { options: [`--inspect-port=${inspectorPort}`] });
  for (let n = 0; n < 10; n += 1) {
    child.kill("SIGUSR1");
    expect((await call("http://localhost", order, { socketPath })).status).toBe(200);
    expect(await isOpen(`http://127.0.0.1:${inspectorPort}`)).toBe(false);
  }
  expect(stderr()).toBe("");
});
