import { createServer } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/src/service/simulator.ts";
import { call } from "../../../testkit/call.ts";
import { callersAuthority } from "../../../testkit/caller-certificates.ts";
import { authority, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { startCollector } from "../../../testkit/collector.ts";
import { ConfigFolder, canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { configuration } from "../../../testkit/faults-configuration.ts";
import { type ForwardProxy, startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { platformToken } from "../../../testkit/platform-token.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { type Program, plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { simulatedSites } from "../../../testkit/simulated-sites.ts";
import { type Application, startApplication } from "../../../testkit/stage/callbacks.ts";
import { places, serviceCertificate, serviceName } from "../../../testkit/stage/egress.ts";
import { type Armed, Control } from "./control.ts";
import type { Faulty } from "./instrument.ts";

const startMs = 30_000;

/** The servers to which a proxy connects, and the ports on which it listens. */
async function startSurroundings() {
  const simulator = await startSimulator({
    // `skip` moves clocks but no timers: a request on an older connection may be late by this idle time.
    keepAliveTimeoutMs: 5_000,
    sites: simulatedSites,
  });
  onTestFinished(() => simulator.stop());
  return {
    simulator,
    server: await startRedis(),
    application: await startApplication(),
    collector: await startCollector(),
    wayOut: await startWayOut(),
    tlsPort: await freePort(),
    callbackPort: await freePort(),
  };
}

type Surroundings = Awaited<ReturnType<typeof startSurroundings>>;

/** Runs instrumented proxies one after the other, in the same place, with a service and a Redis for this lane only. */
export class Lane {
  readonly simulator: Simulator;
  readonly server: RealRedis;
  readonly redis: Redis;
  /** The application that callbacks go to. */
  readonly application: Application;
  readonly tlsPort: number;
  /** The port of the listener for callbacks, to which the simulated service sends. */
  readonly callbackPort: number;
  readonly #folder = new ConfigFolder();
  readonly socketPath = join(this.#folder.path, "app.sock");
  /** Orders on this socket go through a forward proxy. */
  readonly outSocketPath = join(this.#folder.path, "out.sock");
  readonly control = new Control(join(this.#folder.path, "faults.sock"));
  /** The Redis key of the token in use; empty before the first token. */
  tokenName = "";
  inFlightBefore = 0;
  /** The number of the last failure that was armed; 0 at the start of a process. */
  trial: number | undefined = 0;
  /** The trials of this process whose failures were reported. */
  readonly reported = new Set<number | undefined>();
  #writtenBefore = { stdout: 0, stderr: 0 };
  readonly #faulty: Faulty;
  readonly #surroundings: Surroundings;
  readonly #configFile: string;
  #program: Program | undefined;
  #hasEnded = true;
  #adminUrl = "";
  #statusUrl = "";

  private constructor(faulty: Faulty, surroundings: Surroundings) {
    this.#faulty = faulty;
    this.#surroundings = surroundings;
    this.simulator = surroundings.simulator;
    this.server = surroundings.server;
    this.application = surroundings.application;
    this.tlsPort = surroundings.tlsPort;
    this.callbackPort = surroundings.callbackPort;
    this.redis = new Redis({ port: this.server.port, retryStrategy: () => 20 });
    this.redis.on("error", () => {});
    onTestFinished(() => this.redis.disconnect());
    for (const [name, text] of Object.entries({ authority, callersAuthority, serverCertificate, serverKey })) {
      this.#folder.write(name, text);
    }
    this.#folder.write("token-key", tokenKey);
    this.#configFile = this.configure({ isOther: false });
  }

  static async open(faulty: Faulty): Promise<Lane> {
    return new Lane(faulty, await startSurroundings());
  }

  /** Writes the configuration; with `isOther`, one with another secret, other times and one more listener. */
  configure({ isOther }: { readonly isOther: boolean }): string {
    const secret = isOther ? `${canaries.green}-other` : canaries.green;
    this.simulator.changeClientSecret("green-id", secret);
    this.#folder.write("green", secret);
    const key = "{ identifier: K2000000008, secret: { file: DIR/merchant } }";
    const clientAuth = "{ assertion: { file: DIR/platform-token } }";
    const set = `{ name: platform, clientId: merchant, token: { url: "https://login.example/token", clientAuth: ${clientAuth} } }`;
    const site = `keys: [ ${key} ]\ncredentials: [ ${set} ]\ndecimals: [ ${isOther ? "fee" : "tax"} ]\n`;
    this.#folder.write("platform-token", platformToken({ exp: 2_000_000_000 }));
    this.#folder.write("merchant", "a-secret-of-a-merchant");
    this.#folder.write("merchants/S1000000008.yaml", site.replaceAll("DIR", this.#folder.path));
    const merchants =
      '{ baseUrl: "https://merchants.example", operations: [create_order], sites: { folder: merchants } }';
    const mtls = "{ caFile: DIR/callersAuthority, certFile: DIR/serverCertificate, keyFile: DIR/serverKey }";
    const callers = "{ payments: { certificate: spiffe://prod.example/ns/pay/sa/payments } }";
    const tls = `{ bind: "127.0.0.1:${this.tlsPort}", environment: sandbox, mtls: ${mtls}, callers: ${callers} }`;
    const out = `{ bind: "unix:${this.outSocketPath}", environment: out }`;
    const more = `{ bind: "unix:${this.socketPath}.more", environment: sandbox }`;
    const callbacks =
      `[ { bind: "127.0.0.1:${this.callbackPort}", environment: sandbox, replay: best_effort, ` +
      `application: { url: "${this.application.url}", timeout: ${isOther ? 2 : 1}s } } ]`;
    const yaml = configuration(this.simulator, this.socketPath, this.server.url, {
      listeners: isOther ? [tls, out, more] : [tls, out],
      // An environment that nobody calls, whose site has a file of its own.
      out: `${environmentThrough(this.#surroundings.wayOut)}\n  merchants: ${merchants}`,
      callbacks,
      requestSeconds: isOther ? 3 : 2,
      tracing: `metrics: { sites: named }\ntracing: { otlp: { endpoint: "${this.#surroundings.collector.url}" }, serviceName: ${isOther ? "other" : "one"} }`,
    });
    return this.#folder.write("countersign.yaml", yaml.replaceAll("DIR", this.#folder.path));
  }

  /**
   * Starts a new process.
   * @returns whether it serves or has ended within the time
   */
  async start(armed?: Armed): Promise<boolean> {
    await this.redis.flushdb();
    const { main, runtime } = this.#faulty;
    const args = ["--import", runtime, main, "serve", "--config", this.#configFile];
    const program = startProgram(process.execPath, args, plainEnvironment(this.control.prepare(armed)));
    this.#program = program;
    this.#hasEnded = false;
    this.inFlightBefore = 0;
    this.trial = 0;
    this.reported.clear();
    this.#writtenBefore = { stdout: 0, stderr: 0 };
    void program.ended.then(() => {
      if (this.#program === program) this.#hasEnded = true;
    });
    const started = program.line((text) => text.includes('"event":"started"')).catch(() => "ended");
    const line = await Promise.race([started, delay(startMs, "neither")]);
    if (line === "ended") await program.ended;
    const urlOf = (bind: "adminBind" | "statusBind") =>
      line.startsWith("{") ? `http://${JSON.parse(line)[bind]}` : "";
    this.#adminUrl = urlOf("adminBind");
    this.#statusUrl = urlOf("statusBind");
    return line !== "neither";
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get program(): Program {
    if (this.#program === undefined) throw new Error("not started");
    return this.#program;
  }

  get statusUrl(): string {
    return this.#statusUrl;
  }

  get adminUrl(): string {
    return this.#adminUrl;
  }

  /** The value of a metric that has one series here; strict parsing of all metrics would take most of the time. */
  async metric(name: string): Promise<number | undefined> {
    const { text } = await call(this.#adminUrl, "", { method: "GET", path: "/metrics" });
    const value = new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, "m").exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  }

  /** Ignores earlier output, and requests that are in flight now. */
  async mark(): Promise<void> {
    this.inFlightBefore = (await this.metric("countersign_requests_in_flight")) ?? 0;
    // By now everything that was written before that answer has been read.
    this.#writtenBefore = { stdout: this.program.stdout().length, stderr: this.program.stderr().length };
  }

  /** The process's output since the mark, or since its start. */
  written(): { readonly stdout: string; readonly stderr: string } {
    const { stdout, stderr } = this.#writtenBefore;
    return { stdout: this.program.stdout().slice(stdout), stderr: this.program.stderr().slice(stderr) };
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    await this.program.stop("SIGKILL");
  }
}

/** A forward proxy, and a service over TLS that can only be reached through it and answers every order with 200. */
async function startWayOut(): Promise<ForwardProxy> {
  const service = createServer(serviceCertificate, (request, response) => {
    request.resume().on("end", () => response.end("{}"));
  });
  const port = await listen(service);
  return startForwardProxy({ hosts: { [places.api]: port } });
}

/** An environment that uses this forward proxy; `DIR` stands for the folder of the secrets. */
function environmentThrough({ url }: ForwardProxy): string {
  const keys = "[ { identifier: K2000000009, secret: { file: DIR/k2 } } ]";
  const sites = `{ S1000000009: { keys: ${keys} } }`;
  const egress = `{ proxy: "${url}" }`;
  return `{ baseUrl: "https://${serviceName}", operations: [create_order], tls: { caFile: DIR/authority }, egress: ${egress}, sites: ${sites} }`;
}
