/** HAProxy and nginx as the service's load balancer, while they reload, lose a server and close idle connections. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { type RawRequest, rawAnswer, startRawUpstream } from "../../testkit/raw-upstream.ts";
import { type Program, startProgram, startServe, versionOf } from "../../testkit/run-program.ts";
import { drawSeed, seededRandom } from "../../testkit/seeded-random.ts";
import { print } from "../fleet/redis/load.ts";
import { writeServed } from "../load/served.ts";
import { FollowedOrders } from "./followed-orders.ts";
import { tryWith } from "./try-with.ts";

const [haproxy, nginx] = ["/usr/sbin/haproxy", "/usr/sbin/nginx"];
const site = "S1000000003";
const perSecond = 400;
const changes = 24;
const changeEveryMs = 250;
/** Callers that send at the same time, so that as many connections are then idle equally long. */
const [callers, rounds] = [150, changes];
const idleMs = 400;
/** Orders that Countersign may lose beyond nginx's losses: two at each change, or in each round. On a busy machine it is chance. */
const mostMore = 2 * changes;

const reload = (signal: NodeJS.Signals) => underLoad(({ program }) => program.child.kill(signal));

/** Takes one server out, and puts it back at the next change. */
const takeOut = underLoad((balancer, count) =>
  tellHaproxy(balancer, `set server services/s${(count >> 1) % 2} state ${count % 2 === 0 ? "maint" : "ready"}`),
);

/** All callers send at once; then a pause ends close to the moment at which the balancer closes idle connections. */
const race: Meanwhile = async (_, orders) => {
  const random = seededRandom(drawSeed("pauses", 1));
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(Array.from({ length: callers }, () => orders.send()));
    await sleep(idleMs - 20 + 25 * random());
  }
};

const right =
  "no `not_sent` order arrives, none arrives twice, and hardly more are lost than with nginx in Countersign's place";

tryWith("nginx", versionOf(/nginx\/(\S+)/, nginx, "-v"), () => {
  it(`reloads under load: ${right}`, () => expectAsFewAsNginx("nginx reloads", startNginx(), reload("SIGHUP")));

  it("orders come just when its keepalive_timeout ends: the same", () =>
    expectAsFewAsNginx("nginx keepalive_timeout", startNginx(`keepalive_timeout ${idleMs}ms;`), race));
});

tryWith("HAProxy", versionOf(/HAProxy version (\d+\.\d+\.\d+)/, haproxy, "-v"), () => {
  it(`reloads under load: ${right}`, () => expectAsFewAsNginx("HAProxy reloads", startHaproxy(), reload("SIGUSR2")));

  it("orders come just when its timeout http-keep-alive ends: the same", () =>
    expectAsFewAsNginx("HAProxy http-keep-alive", startHaproxy(`timeout http-keep-alive ${idleMs}ms`), race));

  it.each([
    ["a server is taken out and put back", "", takeOut],
    ["the same with option http-server-close", "option http-server-close", takeOut],
    ["reloads with option idle-close-on-response", "option idle-close-on-response", reload("SIGUSR2")],
  ])("%s: no order is lost", async (what, option, meanwhile) => {
    expect(await loseOrders("Countersign", `HAProxy, ${what}`, startHaproxy(option), meanwhile)).toBe(0);
  });
});

interface Balancer {
  readonly port: number;
  readonly folder: string;
  readonly program: Program;
}

/** Starts a balancer in front of services on these ports. */
type Start = (services: readonly number[]) => Promise<Balancer>;

/** Sends orders, and changes the balancer meanwhile. */
type Meanwhile = (balancer: Balancer, orders: FollowedOrders) => Promise<void>;

async function startBalancer(
  command: string,
  options: readonly string[],
  configure: (port: number, folder: string) => string,
): Promise<Balancer> {
  const writer = new ConfigWriter("balancer");
  onTestFinished(() => writer.remove());
  const [port, folder] = [await freePort(), writer.path];
  const program = startProgram(command, [...options, writer.write("balancer.conf", configure(port, folder))]);
  // After SIGKILL the balancer would leave its workers behind.
  onTestFinished(async () => {
    program.child.kill("SIGTERM");
    await program.ended;
  });
  await expect.poll(() => isOpen(port)).toBe(true);
  return { port, folder, program };
}

function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const opened = once(socket, "connect").then(() => true);
  return opened.catch(() => false).finally(() => socket.destroy());
}

function startNginx(more = ""): Start {
  return (services) =>
    startBalancer(nginx, ["-c"], (port, folder) => {
      const servers = services.map((service) => `server 127.0.0.1:${service};`).join(" ");
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (what) => `${what}_temp_path ${folder}/${what};`,
      );
      return `daemon off; worker_processes 2; pid ${folder}/nginx.pid; error_log stderr;
events { }
http {
  access_log off;
  ${paths.join(" ")}
  upstream services { ${servers} keepalive ${callers}; }
  server {
    listen 127.0.0.1:${port};
    ${more}
    location / { proxy_pass http://services; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`;
    });
}

function startHaproxy(more = ""): Start {
  return (services) =>
    startBalancer(haproxy, ["-W", "-db", "-f"], (port, folder) => {
      const servers = services.map((service, n) => `  server s${n} 127.0.0.1:${service}`);
      return `global
  stats socket ${folder}/haproxy.sock mode 600 level admin expose-fd listeners
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
  ${more}
frontend orders
  bind 127.0.0.1:${port}
  default_backend services
backend services
${servers.join("\n")}
`;
    });
}

async function tellHaproxy({ folder }: Balancer, command: string): Promise<void> {
  const socket = connect(`${folder}/haproxy.sock`).end(`${command}\n`);
  expect((await socket.toArray()).join("").trim()).toBe("");
}

/** Repeats a change while orders come at a steady rate. */
function underLoad(change: (balancer: Balancer, count: number) => unknown): Meanwhile {
  return (balancer, orders) =>
    orders.during(perSecond, async () => {
      for (let count = 0; count < changes; count += 1) {
        await sleep(changeEveryMs);
        await change(balancer, count);
      }
      await sleep(changeEveryMs);
    });
}

/**
 * Sends orders through Countersign, or through nginx instead, and a balancer to two services.
 * @returns how many orders were not answered
 */
async function loseOrders(
  by: "Countersign" | "nginx",
  what: string,
  start: Start,
  meanwhile: Meanwhile,
): Promise<number> {
  const bodies: string[] = [];
  const answer = ({ body }: RawRequest, socket: Socket) => {
    bodies.push(body);
    socket.write(rawAnswer(200, body));
  };
  const services = [await startRawUpstream({ answer }), await startRawUpstream({ answer })];
  const balancer = await start(services.map(({ port }) => port));
  const port = by === "nginx" ? (await startNginx()([balancer.port])).port : await freePort();
  const orders = new FollowedOrders(`http://127.0.0.1:${port}`, site);
  const serve = () => startServe(writeServed(`http://127.0.0.1:${balancer.port}`, `127.0.0.1:${port}`, ""));
  const served = by === "nginx" ? undefined : await serve();
  await meanwhile(balancer, orders);
  const figures = served === undefined ? orders.figures(bodies) : await orders.expectAgreement(bodies, served);
  const lost = figures.orders - figures.answered;
  print(`${what}, ${by}`, { ...figures, "lost in 100,000": (lost / figures.orders) * 100_000 });
  return lost;
}

/** A balancer may close an idle connection at the moment at which an order is written to it (RFC 9112 section 9.5). */
async function expectAsFewAsNginx(what: string, start: Start, meanwhile: Meanwhile): Promise<void> {
  const lost = await loseOrders("Countersign", what, start, meanwhile);
  expect(lost).toBeLessThanOrEqual((await loseOrders("nginx", what, start, meanwhile)) + mostMore);
}
