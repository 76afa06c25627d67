import { type Simulator, startSimulator } from "../../simulator/src/service/simulator.ts";
import { Children } from "../../testkit/processes.ts";
import type { Input } from "./input.ts";
import { type Broken, judgeExchange, type Played } from "./judge.ts";
import { type Blamed, judgeRound, type Upstream } from "./judge-upstream.ts";
import { audience, hmacSite, oauthSite, type ProxyProcess, startProxy } from "./proxy.ts";
import { readAnswers } from "./read-answers.ts";
import { secrets } from "./secrets.ts";
import { send } from "./send.ts";

/** What came of a round. */
export interface Outcome {
  readonly played: readonly Played[];
  readonly blamed: readonly Blamed[];
  /** Requests that arrived upstream. */
  readonly sent: number;
}

const rememberedTags = 500;

/** A real proxy process, with the simulator behind it in this one. */
export class Stage {
  readonly #children: Children;
  readonly #simulator: Simulator;
  #proxy: ProxyProcess;
  #probes = 0;
  #oddities = 0;
  #earlierTags: string[] = [];
  #wereLeft = false;

  private constructor(children: Children, simulator: Simulator, proxy: ProxyProcess) {
    this.#children = children;
    this.#simulator = simulator;
    this.#proxy = proxy;
  }

  static async open(): Promise<Stage> {
    const children = new Children();
    const credentials = [{ clientId: "blue-id", clientSecret: secrets.clientSecret, audience }];
    const keys = [{ identifier: "K2000000001", secret: secrets.apiSecret }];
    const sites = [
      { identifier: oauthSite, credentials },
      { identifier: hmacSite, keys },
    ];
    const simulator = await startSimulator({ sites, tokenPrefix: secrets.tokenPrefix });
    const stage = new Stage(children, simulator, await startProxy(children, simulator.apiUrl, simulator.loginUrl));
    await stage.play([]);
    return stage;
  }

  /** Plays connections at the same time, then one plain request, and judges all of it. */
  async play(inputs: readonly Input[]): Promise<Outcome> {
    const before = this.#simulator.counts().apiRequests;
    const played = await Promise.all(
      inputs.map(async (input): Promise<Played> => ({ input, transcript: await send(input, this.#proxy) })),
    );
    const probe = drawProbe(++this.#probes);
    const probed = await this.#probe(probe);
    const upstream = this.#upstreamSince(before).filter(({ body }) => !body.includes(probe.tag));
    const round = { played, upstream, earlierTags: new Set(this.#earlierTags), wereLeft: this.#wereLeft };
    const seen = [...probed, ...this.#proxy.takeComplaints(), ...this.#countOddities()];
    const blamed: Blamed[] = [
      ...played.flatMap((by) => judgeExchange(by).map((broken) => ({ ...broken, by }))),
      ...judgeRound(round),
      ...seen.map((broken) => ({ ...broken, by: undefined })),
    ];
    this.#earlierTags = [...this.#earlierTags, ...inputs.map(({ tag }) => tag)].slice(-rememberedTags);
    this.#wereLeft = played.some(({ input, transcript }) => input.ending !== "stay" || transcript.end === "left");
    if (blamed.some(({ oracle }) => oracle === "process_ended" || oracle === "complained")) await this.#restart();
    return { played, blamed, sent: upstream.length };
  }

  async close(): Promise<void> {
    await this.#proxy.stop();
    await this.#children.endAll();
    await this.#simulator.stop();
  }

  /** The next plain request works, on a connection of its own; and when it is logged, so is all before it. */
  async #probe(probe: Input): Promise<Broken[]> {
    const logged = this.#proxy.whenLogged(`"reference":"${probe.tag}"`);
    const { received, end } = await send(probe, this.#proxy);
    const [answer] = readAnswers(received, false).answers;
    if (answer?.status !== 200)
      return [{ oracle: "next_request_failed", seen: `${end}, ${answer?.status ?? "no"} answer` }];
    return (await logged) ? [] : [{ oracle: "log_malformed", seen: "a request that is not in the log" }];
  }

  #upstreamSince(before: number): Upstream[] {
    return this.#simulator.seen.apiRequests
      .filter(({ number }) => number > before)
      .map(({ number, method, target, rawHeaders, body, refusal }) => {
        return { number, method, target, rawHeaders, body: body.toString("latin1"), refusal: refusal?.code };
      });
  }

  #countOddities(): Broken[] {
    const { malformed, incomplete } = this.#simulator.counts();
    const more = malformed + incomplete - this.#oddities;
    this.#oddities += more;
    return more === 0 ? [] : [{ oracle: "upstream_malformed", seen: `${more} malformed or incomplete requests` }];
  }

  async #restart(): Promise<void> {
    await this.#proxy.stop();
    this.#proxy = await startProxy(this.#children, this.#simulator.apiUrl, this.#simulator.loginUrl);
  }
}

/** Each site in its turn. */
function drawProbe(number: number): Input {
  const tag = `probe-${number}.`;
  const body = `{"site_customer_identifier":"${tag}","site_identifier":"${number % 2 ? oauthSite : hmacSite}"}`;
  const head = `POST /create_order HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close`;
  const bytes = Buffer.from(
    `${head}\r\nCountersign-Reference: ${tag}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return { door: number % 3 ? "tcp" : "unix", bytes, slices: [], ending: "stay", tag };
}
