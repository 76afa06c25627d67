/** A port that is taken is noticed before any token is requested, at the start and at a reload. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { runCommand } from "../../../testkit/run-program.ts";
import { greenSet, knock, listenerAt, ownListener, type Pod, startPod } from "./pod.ts";

const adminPort = (pod: Pod) => Number(new URL(pod.adminUrl).port);

it.each(["listener", "admin"])("a second process ends without a token request: its %s port is taken", async (which) => {
  const pod = await startPod();
  await expect.poll(() => pod.simulator.counts().tokensIssued).toBe(1);
  const ownAdmin = `admin: { bind: "127.0.0.1:${adminPort(pod)}" }`;
  const elsewhere = pod.yaml({ listeners: [listenerAt(await freePort())] });
  const yaml = which === "listener" ? pod.yaml() : elsewhere.replace('admin: { bind: "127.0.0.1:0" }', ownAdmin);
  const file = pod.folder.write("second/countersign.yaml", yaml);
  const { exitCode, stderr } = await runCommand(["serve", "--config", file]);
  expect(exitCode).toBe(2);
  const place =
    which === "listener" ? `listeners[0].bind is 127.0.0.1:${pod.port}` : `admin.bind is 127.0.0.1:${adminPort(pod)}`;
  expect(stderr).toBe(
    `Countersign cannot listen: ${place}, which is taken (EADDRINUSE); end the process that listens there, ` +
      "or name another place. Nothing was started.\n",
  );
  expect(pod.simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1 });
});

it("a request on a new listener whose configuration is not active yet waits, and is served by that configuration", async () => {
  const pod = await startPod();
  expect((await pod.order()).status).toBe(200);
  const hang = pod.simulator.faults.add({ host: "login", kind: "hang" });
  const port = await freePort();
  const applied = pod.apply(
    { listeners: [ownListener, listenerAt(port)], oauthKeys: `credentials: [ ${greenSet} ]` },
    1,
  );
  await hang.whenPlayed(1);
  expect(await knock(port)).toBe("open");
  const early = call(`http://127.0.0.1:${port}`);
  expect((await pod.order()).status).toBe(200);
  expect(pod.lines("config_applied")).toEqual([]);
  expect(pod.simulator.counts().apiRequests).toBe(2);
  hang.release();
  expect((await early).status).toBe(200);
  await applied;
  expect(pod.simulator.seen.apiRequests.map(({ token }) => token)).toEqual(["token_1", "token_1", "token_2"]);
});
