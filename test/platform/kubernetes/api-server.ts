import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { vi } from "vitest";
import { freePort } from "../../../testkit/free-port.ts";
import type { Ended } from "../../../testkit/run-program.ts";
import type { Manifest } from "./manifests.ts";
import { environment, run } from "./tools.ts";

/** A Kubernetes API server with its etcd, and nothing else of a cluster: pods are admitted and kept, but never run. */
export interface ApiServer {
  /** Runs kubectl with all rights. */
  kubectl(args: readonly string[], input?: string): Ended;
  /** The answer to a POST: the object as it is kept, or a Status. Rejects if no answer comes. */
  post(path: string, object: Manifest): Promise<Manifest>;
  /** Ends the server without a warning. */
  kill(): Promise<void>;
  /** Starts it again on the same port. It answers before it is ready. */
  start(): void;
  ready(): Promise<void>;
  close(): Promise<void>;
}

const token = "all-rights";

/** Starts one. It resolves when the server is ready. */
export async function startApiServer(): Promise<ApiServer> {
  const [etcdPort, port] = [await freePort(), await freePort()];
  const folder = mkdtempSync(join(tmpdir(), "countersign-api-server-"));
  const write = (name: string, content: string | Buffer) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const running = new Map<string, ChildProcess>();
  const launch = (command: string, args: readonly string[]) => {
    const log = openSync(join(folder, `${command}.log`), "a");
    running.set(command, spawn(command, args, { env: environment, stdio: ["ignore", log, log] }));
  };
  const kill = async (command: string) => {
    const child = running.get(command);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };

  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  launch("etcd", [
    ...["--data-dir", join(folder, "etcd"), "--unsafe-no-fsync", "--listen-peer-urls", "http://127.0.0.1:0"],
    ...["--listen-client-urls", etcdUrl, "--advertise-client-urls", etcdUrl],
  ]);
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const accountKey = write("accounts.key", privateKey.export({ type: "sec1", format: "pem" }));
  const tokens = write("tokens.csv", `${token},admin,admin,system:masters\n`);
  const start = () =>
    launch("kube-apiserver", [
      ...["--etcd-servers", etcdUrl, "--bind-address", "127.0.0.1", "--secure-port", String(port)],
      ...["--cert-dir", join(folder, "certificates"), "--token-auth-file", tokens, "--authorization-mode", "RBAC"],
      ...["--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", accountKey],
      ...["--service-account-signing-key-file", accountKey, "--service-cluster-ip-range", "10.96.0.0/24"],
    ]);
  start();

  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server: `https://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "admin", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin", namespace: "shop" } }],
    "current-context": "test",
  };
  const config = write("kubeconfig", JSON.stringify(kubeconfig));
  const kubectl = (args: readonly string[], input = "") => run("kubectl", ["--kubeconfig", config, ...args], input);
  const log = () => readFileSync(join(folder, "kube-apiserver.log"), "utf8").slice(-2_000);
  // Its certificate is its own.
  const agent = new Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false });
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const server: ApiServer = {
    kubectl,
    async post(path, object) {
      const asked = request({ agent, port, path, headers, method: "POST" });
      asked.end(JSON.stringify(object));
      const [answer] = await once(asked, "response");
      return json(answer);
    },
    kill: () => kill("kube-apiserver"),
    start,
    async ready() {
      const isReady = () => {
        if (kubectl(["get", "--raw", "/readyz"]).exitCode !== 0) throw new Error(`not ready: ${log()}`);
      };
      await vi.waitFor(isReady, { timeout: 60_000, interval: 100 });
    },
    async close() {
      agent.destroy();
      await Promise.all([...running.keys()].map(kill));
      rmSync(folder, { recursive: true });
    },
  };
  await server.ready();
  return server;
}
