/**
 * New secrets and certificates are used however they are written: by one swap of a folder's `..data` link, as the kubelet and the Secrets
 * Store CSI driver do, or file by file, each renamed into its place, as Vault's agent does. A caller's new token and
 * changed rights apply within 10 s, on open connections too, and no token is shown.
 */
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { renameSync } from "node:fs";
import { connect } from "node:tls";
import { expect, it } from "vitest";
import { call, get, order } from "../../../testkit/call.ts";
import { authority, rsaCertificate, rsaKey, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { Mount } from "./mount.ts";
import { audience, hmacSite, ownListener, type Pod, startPod } from "./pod.ts";

const rotated = "canary-client-secret-rotated";
const first = { "tls.crt": serverCertificate, "tls.key": serverKey, "ca.crt": authority };
const renewed = { "tls.crt": rsaCertificate, "tls.key": rsaKey };
const tls = "mtls: { caFile: TLS/ca.crt, certFile: TLS/tls.crt, keyFile: TLS/tls.key }";
const callers = "callers: { shop: { certificate: shop.example } }";

const fingerprint = (pem: string) => new X509Certificate(pem).fingerprint256;

it("a swap of the folder: the new secret is used, and a certificate together with its key", async () => {
  const port = await freePort();
  const mount = new Mount(`${emptyFolder()}/tls`, first);
  const pod = await startPod({ settings: { listeners: listeners(mount.path, port) } });
  expect((await pod.order()).status).toBe(200);
  expect(await shown(port)).toBe(fingerprint(serverCertificate));

  await pod.told("config_applied", 1, () => mount.update(renewed));
  expect(await shown(port)).toBe(fingerprint(rsaCertificate));

  pod.simulator.changeClientSecret("blue-id", rotated);
  await pod.told("config_applied", 2, () => pod.blue.update({ "client-secret": rotated }));
  await expect.poll(() => pod.simulator.counts().tokensIssued).toBe(2);
  expect((await pod.order()).status).toBe(200);
  expect(pod.lines("config_refused")).toEqual([]);
});

it("file by file: a certificate without its key is refused, and the former one stays until the key is written", async () => {
  const port = await freePort();
  const files = {
    ...Object.fromEntries(Object.entries(first).map(([name, text]) => [`agent/${name}`, text])),
    "agent/client-id": "blue-id",
    "agent/client-secret": "canary-client-secret-blue",
    "agent/audience": audience,
  };
  const settings = {
    listeners: listeners("DIR/agent", port),
    oauthKeys: "credentials: [ { name: blue, dir: DIR/agent } ]",
  };
  const pod = await startPod({ settings, files });
  expect((await pod.order()).status).toBe(200);

  await pod.told("config_refused", 1, () => rename(pod, "agent", { "tls.crt": rsaCertificate }));
  expect(await shown(port)).toBe(fingerprint(serverCertificate));
  expect((await pod.order()).status).toBe(200);
  await pod.told("config_applied", 1, () => rename(pod, "agent", { "tls.key": rsaKey }));
  expect(await shown(port)).toBe(fingerprint(rsaCertificate));

  pod.simulator.changeClientSecret("blue-id", rotated);
  await pod.told("config_applied", 2, () => rename(pod, "agent", { "client-secret": rotated }));
  await expect.poll(() => pod.simulator.counts().tokensIssued).toBe(2);
  expect((await pod.order()).status).toBe(200);
});

it("a pipe in place of a secret's file is refused without waiting, and the next file is used", async () => {
  const pod = await startPod();
  const key = `${pod.folder.path}/k1`;
  const refused = await pod.told("config_refused", 1, () => {
    execFileSync("mkfifo", [`${key}.tmp`]);
    renameSync(`${key}.tmp`, key);
  });
  expect(refused.problems).toEqual([expect.stringContaining("no regular file")]);
  await pod.told("config_applied", 1, () =>
    renameSync(pod.folder.write("k1.tmp", "canary-api-secret-key-rotated"), key),
  );
});

const [shop, shopNext, shopLast] = [1, 2, 3].map((n) => `canary-token-of-the-shop-${n}`);
const shopListener = (rights = "", tokens = "[{ file: DIR/shop }, { file: DIR/shop-next }]") =>
  `{ bind: "127.0.0.1:PORT", environment: sandbox, callers: { shop: { token: ${tokens}${rights} } } }`;

it("the new tokens and rights of a caller are used without a restart", async () => {
  const files = { shop: `${shop}\n`, "shop-next": `${shopNext}\n` };
  const pod = await startPod({ settings: { listeners: [shopListener()] }, files });
  const agent = keepAlive(1);
  const send = async (token = "", site = hmacSite) => {
    const headers = { "Proxy-Authorization": `Bearer ${token}`, "Countersign-Site": site };
    const { status, headers: answered } = await call(pod.url, order, { agent, headers });
    return answered["countersign-error"] ?? status;
  };
  expect([await send(shop), await send(shopNext), await send(shopLast)]).toEqual([
    200,
    200,
    "caller_not_authenticated",
  ]);
  expect(await send(shop)).toBe(200);
  const [socket] = Object.values(agent.freeSockets).flat();

  await pod.told("config_applied", 1, () => pod.folder.write("shop", `${shopLast}\n`));
  expect(await send(shopLast)).toBe(200);
  expect(Object.values(agent.freeSockets).flat()).toEqual([socket]);
  expect(await send(shop)).toBe("caller_not_authenticated");

  const narrow = [shopListener(`, sites: [S1000000001]`)];
  const write = (listeners: readonly string[]) => pod.config.update({ "countersign.yaml": pod.yaml({ listeners }) });
  expect(await send(shopNext)).toBe(200);
  await pod.told("config_applied", 2, () => write(narrow));
  expect([await send(shopNext), await send(shopNext, "S1000000001")]).toEqual(["caller_not_allowed", 200]);

  await pod.told("config_applied", 3, () => write([shopListener("", "{ file: DIR/shop }")]));
  expect([await send(shopNext), await send(shopLast)]).toEqual(["caller_not_authenticated", 200]);

  const seen = [
    pod.program.stdout(),
    pod.program.stderr(),
    (await pod.metrics()).text,
    (await get(pod.statusUrl, "/status")).text,
    (await get(pod.statusUrl, "/")).text,
  ].join("\n");
  expect(seen).toContain('"caller":"shop"');
  expect(seen).toContain('countersign_caller_requests_total{listener="');
  expect(seen).not.toContain("canary");
});

function listeners(folder: string, port: number) {
  return [
    ownListener,
    `{ bind: "127.0.0.1:${port}", environment: sandbox, ${callers}, ${tls.replaceAll("TLS", folder)} }`,
  ];
}

/** Writes files one by one, each under another name first. */
function rename(pod: Pod, folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    renameSync(pod.folder.write(`${folder}/.${name}.tmp`, text), `${pod.folder.path}/${folder}/${name}`);
  }
}

/** The certificate that the listener shows in a new handshake. */
async function shown(port: number): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  const peer = await new Promise<Buffer>((resolve, reject) => {
    socket.once("secureConnect", () => resolve(socket.getPeerCertificate().raw));
    socket.once("error", reject);
  });
  socket.on("error", () => {}).destroy();
  return new X509Certificate(peer).fingerprint256;
}
