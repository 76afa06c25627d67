/** docs/egress.md: Squid with Basic authentication, in front of a service over TLS whose name only Squid can resolve. */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { startSimulator } from "../../simulator/src/service/simulator.ts";
import { type Called, call, order } from "../../testkit/call.ts";
import { authority } from "../../testkit/certificates.ts";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";
import { expectFailure } from "../../testkit/expect-failure.ts";
import { scrape } from "../../testkit/exposition.ts";
import { freePort } from "../../testkit/free-port.ts";
import { canariesIn } from "../../testkit/leaks/canaries.ts";
import { type Program, startProgram, startServe, versionOf } from "../../testkit/run-program.ts";
import { drawSeed, seededRandom } from "../../testkit/seeded-random.ts";
import { hmacSite, oauthSite, oneOfEachMethod as sites } from "../../testkit/simulated-sites.ts";
import { serviceCertificate, serviceName } from "../../testkit/stage/egress.ts";
import { print } from "../fleet/redis/load.ts";
import { FollowedOrders } from "./followed-orders.ts";
import { tryWith } from "./try-with.ts";

const squid = "/usr/sbin/squid";
const user = "countersign:proxy-password";
const [perSecond, kills] = [150, 8];
const signed = { "Countersign-Site": hmacSite, "Countersign-Reference": "A-1042" };

const failures = [
  [
    "refused",
    { allows: ([login = ""]) => [login] },
    /: the proxy lets no connection to the service through \(PROXY_STATUS_403\);/,
  ],
  [
    "unauthorized",
    { password: `${user}x` },
    /: the proxy wants other credentials \(PROXY_STATUS_407\); .* file of egress\.auth/,
  ],
  ["failed", {}, /: the proxy: connections are refused \(PROXY_ECONNREFUSED\);/],
  ["timed_out", {}, /: the proxy opened no tunnel in time \(PROXY_TIMEOUT\);/],
] as const satisfies readonly (readonly [result: string, options: StageOptions, detail: RegExp])[];

tryWith("Squid", versionOf(/Version (\d+\.\d+)/, squid, "-v"), () => {
  it("token requests and orders pass through CONNECT with Basic authentication, and its log of all headers has only the host and these credentials", async () => {
    const { simulator, start, serve, log, ports } = await stage();
    await start();
    const served = await serve();
    for (const headers of [{}, signed, {}, signed])
      expect((await call(served.url, order, { headers })).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ accepted: 4, tokensIssued: 1, apiRequests: 4, tokenRequests: 1 });
    served.child.kill("SIGTERM");
    expect(await served.ended).toBe(0);
    // Squid logs a tunnel when it ends.
    await expect.poll(() => log().split("\n").length - 1).toBe(2);
    const basic = Buffer.from(user).toString("base64");
    const lines = ports.map((port) => {
      const place = `${serviceName}:${port}`;
      return `CONNECT ${place} 200 Proxy-Authorization:%20Basic%20${basic}%0D%0AHost:%20${place}%0D%0A`;
    });
    expect(log().trim().split("\n").toSorted()).toEqual(lines.toSorted());
    expect([...canariesIn(decodeURIComponent(log()))]).toEqual([]);
  });

  it("an ACL denies (403), the password is wrong (407), or Squid is killed or stopped before the tunnel: `not_sent`, and the answer says why", async () => {
    for (const [result, options, detail] of failures) {
      const { simulator, start, serve } = await stage(options);
      const program = await start();
      if (result === "timed_out") await stop(program);
      const served = await serve();
      if (result === "failed") {
        expect((await call(served.url, order, { headers: signed })).status).toBe(200);
        await kill(program);
      }
      const seen = simulator.counts().apiRequests;
      const answer = await call(served.url, order, { headers: signed });
      expectFailure(answer, { status: 502, code: "upstream_unreachable", detail, reference: "A-1042" });
      expect(simulator.counts().apiRequests).toBe(seen);
      expect((await scrape(served.adminUrl)).sum("countersign_tunnels_total", { result })).toBeGreaterThan(0);
    }
  });

  it("Squid is stopped during an order: `unknown` at the deadline, and the order arrives at most once, even if Squid continues", async () => {
    const { simulator, start, serve, bodies } = await stage();
    const program = await start();
    const { url } = await serve();
    const send = (more = {}) => call(url, order, { headers: { ...signed, ...more } });
    const expectUnknown = (answer: Called) =>
      expectFailure(answer, { status: 504, code: "upstream_timeout", outcome: "unknown", reference: "A-1042" });
    expect((await send()).status).toBe(200);
    await stop(program);
    expectUnknown(await send({ "Countersign-Timeout-Ms": "500" }));
    program.child.kill("SIGCONT");
    expect((await send()).status).toBe(200);
    const seen = simulator.counts().apiRequests;
    expect(seen).toBeLessThanOrEqual(3);

    simulator.faults.add({ host: "api", kind: "delay", delayMs: 200 });
    const answer = send({ "Countersign-Timeout-Ms": "500" });
    await simulator.seen.whenApiRequests(seen + 1);
    await stop(program);
    expectUnknown(await answer);
    program.child.kill("SIGCONT");
    expect((await send()).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ apiRequests: seen + 2, accepted: seen + 2 });
    expect(bodies()).toHaveLength(seen + 2);
  });

  it("Squid is killed and restarted under load: no `not_sent` order arrives, and none arrives twice", async () => {
    const { start, serve, bodies } = await stage();
    let program = await start();
    const served = await serve();
    const random = seededRandom(drawSeed("kills"));
    const orders = new FollowedOrders(served.url, hmacSite);
    await orders.during(perSecond, async () => {
      for (let round = 0; round < kills; round += 1) {
        await sleep(300 + 300 * random());
        await kill(program);
        program = await start();
      }
      await sleep(300);
    });
    const figures = await orders.expectAgreement(bodies(), served);
    print("Squid, killed under load", figures);
    expect(figures.answered).toBeGreaterThan(kills);
    expect(figures.not_sent).toBeGreaterThan(0);
  });
});

interface StageOptions {
  /** `user:password` that Countersign sends. */
  readonly password?: string;
  /** Chooses, from the ports of the authorization server and of the service, those to which Squid allows tunnels. */
  readonly allows?: (ports: readonly string[]) => readonly string[];
}

/** Squid, not yet started, between the built command and the service. */
async function stage({ password = user, allows = (ports) => ports }: StageOptions = {}) {
  const folder = new ConfigWriter("squid");
  onTestFinished(() => folder.remove());
  const simulator = await startSimulator({ sites, tls: serviceCertificate });
  onTestFinished(() => simulator.stop());
  const ports = [simulator.loginUrl, simulator.apiUrl].map((url) => new URL(url).port);
  const port = await freePort();
  const hash = execFileSync("openssl", ["passwd", "-apr1", "-stdin"], { input: user.split(":")[1] });
  // If root starts Squid, it changes to another user, who must read and write here.
  chmodSync(folder.path, 0o711);
  folder.write("passwords", `${user.split(":")[0]}:${hash}`, 0o644);
  folder.write("hosts", `127.0.0.1 ${serviceName}\n`, 0o644);
  const log = folder.write("access.log", "", 0o666);
  const file = folder.write("squid.conf", configure(port, folder.path, allows(ports)), 0o644);
  const start = async () => {
    const program = startProgram(squid, ["-N", "-d", "1", "-f", file]);
    await expect.poll(program.stderr).toContain("Accepting HTTP Socket connections");
    return program;
  };
  const urls = [simulator.loginUrl, simulator.apiUrl].map((url) => url.replace("127.0.0.1", serviceName));
  const serve = async () => {
    const ownPort = await freePort();
    const environment = {
      authUrl: urls[0],
      baseUrl: String(urls[1]),
      allowPlaintext: false,
      tls: { caFile: folder.write("authority.pem", authority) },
      egress: { proxy: `http://127.0.0.1:${port}`, auth: folder.secret("proxy-auth", password) },
      defaultSite: oauthSite,
      sites: folder.sites(sites),
    };
    const timeouts = { request: "2s", connect: "500ms", token: "2s" };
    const config = sandboxConfig([`127.0.0.1:${ownPort}`], environment, { timeouts });
    const program = await startServe(folder.config("countersign.yaml", config));
    return { ...program, url: `http://127.0.0.1:${ownPort}` };
  };
  const bodies = () => simulator.seen.apiRequests.map(({ body }) => body.toString());
  return { simulator, start, serve, bodies, log: () => readFileSync(log, "utf8"), ports };
}

function configure(port: number, folder: string, allowed: readonly string[]): string {
  return `http_port 127.0.0.1:${port}
auth_param basic program /usr/lib/squid/basic_ncsa_auth ${folder}/passwords
acl known proxy_auth REQUIRED
acl hosts dstdomain ${serviceName}
acl tls port ${allowed.join(" ")}
http_access allow CONNECT known hosts tls
http_access deny all
hosts_file ${folder}/hosts
logformat heads %rm %ru %>Hs %>ha
access_log stdio:${folder}/access.log heads
buffered_logs off
cache_log /dev/null
pid_filename none
netdb_filename none
pinger_enable off
shutdown_lifetime 0 seconds
`;
}

async function kill({ child, ended }: Program): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

async function stop({ child }: Program): Promise<void> {
  child.kill("SIGSTOP");
  await expect.poll(() => readFileSync(`/proc/${child.pid}/stat`, "utf8")).toMatch(/\) T /);
}
