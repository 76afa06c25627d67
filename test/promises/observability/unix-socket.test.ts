/** A listener on a Unix socket takes over the file of a dead process, and nothing else. */
import { once } from "node:events";
import { readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { rawPost, sendRaw } from "../../../testkit/raw-caller.ts";
import { stage } from "../../../testkit/stage.ts";

const socketPath = () => join(emptyFolder(), "app.sock");

it("removes a socket file on which nothing listens any more, and its own when it stops", async () => {
  const path = socketPath();
  const dead = createServer().listen(`${path}.before`);
  await once(dead, "listening");
  // Renamed, the file outlives its listener, as after a kill.
  await rename(`${path}.before`, path);
  dead.close();
  expect((await stat(path)).isSocket()).toBe(true);
  const { proxy } = await stageAt(path);
  // Readable and writable for owner and group.
  expect((await stat(path)).mode & 0o777).toBe(0o660);
  expect((await call("http://localhost", order, { socketPath: path })).status).toBe(200);
  expect(await proxy.stop("SIGTERM")).toBe(true);
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
});

it("accepts any Host value, since a socket has no host name, but demands exactly one", async () => {
  const path = socketPath();
  await stageAt(path);
  for (const host of ["evil.example", "", "app.sock", "%2Frun%2Fapp.sock:0"]) {
    expect((await call("http://localhost", order, { socketPath: path, headers: { host } })).status).toBe(200);
  }
  const twoHosts = rawPost({ host: ["Host: a", "Host: b"] });
  expect(await sendRaw({ path }, twoHosts)).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"malformed_request"/);
});

it("accepts no HTTP/1.0, whose caller could not distinguish a cut answer from a whole one", async () => {
  const path = socketPath();
  const { simulator } = await stageAt(path);
  expect(await sendRaw({ path }, rawPost({ version: "HTTP/1.0" }))).toMatch(
    /^HTTP\/1\.1 400 [\s\S]*proxy_http_version 1\.1/,
  );
  expect(simulator.counts().apiRequests).toBe(0);
});

it("does not take over a socket that is in use", async () => {
  const path = socketPath();
  const { proxy } = await stageAt(path);
  await expect(stageAt(path)).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect((await call("http://localhost", order, { socketPath: path })).status).toBe(200);
  expect(proxy.binds.listeners).toEqual([{ kind: "unix", path }]);
});

it.each(["a file", "a link to a file"])("deletes no %s that is not a socket", async (what) => {
  const path = socketPath();
  const file = what === "a file" ? path : `${path}.target`;
  await writeFile(file, "precious");
  if (file !== path) await symlink(file, path);
  await expect(stageAt(path)).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect(await readFile(path, "utf8")).toBe("precious");
});

function stageAt(path: string) {
  return stage({ config: { listeners: [{ bind: { kind: "unix", path }, environment: "sandbox", hosts: [] }] } });
}
