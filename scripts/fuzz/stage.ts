import { type Simulator, startSimulator } from "../../simulator/src/service/simulator.ts";
import { Children } from "../../testkit/processes.ts";
import { hmacSite, oauthSite, oneOfEachMethod } from "../../testkit/simulated-sites.ts";
import type { Input } from "./input.ts";
import { type Broken, canary, judgeExchange, type Played } from "./judge.ts";
import { judgeRound, type Upstream } from "./judge-upstream.ts";
import { type ProxyProcess, startProxy } from "./proxy.ts";
import { readAnswers } from "./read-answers.ts";
import { send } from "./send.ts";

/** The result of a round. */
export interface Outcome {
  readonly played: readonly Played[];
  readonly broken: readonly Broken[];
}

const rememberedTags = 500;

/** A real proxy process, with the simulator behind it in this process. */
export interface Stage {
  /** Plays connections at the same time, then one plain request, and judges all of it. */
  play(inputs: readonly Input[]): Promise<Outcome>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const children = new Children();
  const simulator = await startSimulator({ sites: oneOfEachMethod, tokenPrefix: `${canary}-` });
  const start = () => startProxy(children, simulator.apiUrl, simulator.loginUrl);
  let proxy = await start();
  let probes = 0;
  let oddities = 0;
  let earlierTags: string[] = [];
  let wereLeft = false;
  const stage: Stage = {
    async play(inputs) {
      const before = simulator.counts().apiRequests;
      const played = await Promise.all(
        inputs.map(async (input): Promise<Played> => ({ input, transcript: await send(input, proxy) })),
      );
      probes += 1;
      const probe = drawProbe(probes);
      const probed = await sendProbe(probe, proxy);
      const upstream = upstreamSince(simulator, before).filter(({ body }) => !body.includes(probe.tag));
      const broken = [
        ...played.flatMap(judgeExchange),
        ...judgeRound({ played, upstream, earlierTags: new Set(earlierTags), wereLeft }),
        ...probed,
        ...proxy.takeComplaints(),
      ];
      const { malformed, incomplete } = simulator.counts();
      const more = malformed + incomplete - oddities;
      oddities += more;
      if (more > 0) broken.push({ oracle: "upstream_malformed", seen: `${more} malformed or incomplete requests` });
      earlierTags = [...earlierTags, ...inputs.map(({ tag }) => tag)].slice(-rememberedTags);
      wereLeft = played.some(({ input, transcript }) => input.ending !== "stay" || transcript.end === "left");
      if (broken.some(({ oracle }) => oracle === "process_ended" || oracle === "complained")) {
        await proxy.stop();
        proxy = await start();
      }
      return { played, broken };
    },
    async close() {
      await proxy.stop();
      await children.endAll();
      await simulator.stop();
    },
  };
  await stage.play([]);
  return stage;
}

/** Checks that the next plain request works, on its own connection; when it is logged, everything before it is logged, too. */
async function sendProbe(probe: Input, proxy: ProxyProcess): Promise<Broken[]> {
  const logged = proxy.whenLogged(`"reference":"${probe.tag}"`);
  const { received, end } = await send(probe, proxy);
  const [answer] = readAnswers(received, false).answers;
  const seen = `${end}, ${answer?.status ?? "no"} answer`;
  if (answer?.status !== 200) return [{ oracle: "next_request_failed", seen }];
  return (await logged) ? [] : [{ oracle: "log_malformed", seen: "a request that is not in the log" }];
}

function upstreamSince({ seen }: Simulator, before: number): Upstream[] {
  return seen.apiRequests
    .filter(({ number }) => number > before)
    .map(({ number, method, target, rawHeaders, body, refusal }) => {
      return { number, method, target, rawHeaders, body: body.toString("latin1"), refusal: refusal?.code };
    });
}

/** Uses the sites in turn. */
function drawProbe(number: number): Input {
  const tag = `probe-${number}.`;
  const body = `{"site_customer_identifier":"${tag}","site_identifier":"${number % 2 ? oauthSite : hmacSite}"}`;
  const head = `POST /create_order HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close`;
  const bytes = Buffer.from(
    `${head}\r\nCountersign-Reference: ${tag}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return { door: number % 3 ? "tcp" : "unix", bytes, slices: [], ending: "stay", tag };
}
