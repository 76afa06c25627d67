/** A port that is taken is found before any token is asked for, at the start and at a reload. */
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { call } from "../../../testkit/call.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { audience, type Pod, startPod } from "./pod.ts";

const own = '{ bind: "127.0.0.1:PORT", environment: sandbox }';
const at = (port: number) => `{ bind: "127.0.0.1:${port}", environment: sandbox }`;
const adminPort = (pod: Pod) => Number(new URL(pod.adminUrl).port);

it.each(["listener", "admin"])("a second process ends without a token request: its %s port is taken", async (which) => {
  const pod = await startPod();
  await expect.poll(() => pod.simulator.counts().tokensIssued).toBe(1);
  const yaml =
    which === "listener"
      ? pod.yaml()
      : pod
          .yaml({ listeners: [at(await freePort())] })
          .replace('admin: { bind: "127.0.0.1:0" }', `admin: { bind: "127.0.0.1:${adminPort(pod)}" }`);
  const file = pod.folder.write("second/countersign.yaml", yaml);
  const second = startProgram(process.execPath, ["dist/main.js", "serve", "--config", file], plainEnvironment());
  expect(await second.ended).toBe(2);
  const port = which === "listener" ? pod.port : adminPort(pod);
  expect(second.stderr()).toBe(
    `Countersign cannot listen: address already in use 127.0.0.1:${port}. Nothing was started. ` +
      "End the process that listens there, or give `bind` another port.\n",
  );
  expect(pod.simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1 });
});

it("a reload that cannot listen asks for no token with the secret that came with it", async () => {
  const pod = await startPod();
  const other = await startPod();
  expect((await pod.order()).status).toBe(200);
  const set = `{ name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: "${audience}" }`;
  const change = { listeners: [own, at(other.port)], oauthKeys: `credentials: [ ${set} ]` };
  const yaml = pod.yaml(change).replaceAll("PORT", String(pod.port)).replaceAll("DIR", pod.folder.path);
  pod.config.update({ "countersign.yaml": yaml });
  expect(await pod.nth("config_refused", 1)).toMatchObject({
    problems: [`Countersign cannot listen: address already in use 127.0.0.1:${other.port}`],
  });
  expect((await pod.order()).status).toBe(200);
  expect(pod.simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1 });
});

it("what comes in on a new listener before its configuration is active waits, and is served by it", async () => {
  const pod = await startPod();
  expect((await pod.order()).status).toBe(200);
  const hang = pod.simulator.faults.add({ host: "login", kind: "hang" });
  const port = await freePort();
  const set = `{ name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: "${audience}" }`;
  const yaml = pod.yaml({ listeners: [own, at(port)], oauthKeys: `credentials: [ ${set} ]` });
  pod.config.update({
    "countersign.yaml": yaml.replaceAll("PORT", String(pod.port)).replaceAll("DIR", pod.folder.path),
  });
  await hang.whenPlayed(1);
  expect(await isOpen(port)).toBe(true);
  const early = call(`http://127.0.0.1:${port}`);
  expect((await pod.order()).status).toBe(200);
  expect(pod.lines("config_applied")).toEqual([]);
  expect(pod.simulator.counts().apiRequests).toBe(2);
  hang.release();
  expect((await early).status).toBe(200);
  await pod.nth("config_applied", 1);
  expect(pod.simulator.seen.apiRequests.map(({ token }) => token)).toEqual(["token_1", "token_1", "token_2"]);
});

function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  return new Promise((resolve) => {
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
  });
}
