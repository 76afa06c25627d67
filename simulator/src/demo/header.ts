import { countOf } from "countersign/cli/command";
import { paint } from "countersign/cli/terminal";
import { version } from "countersign/version";
import type { Demo } from "./env.ts";
import { scenes } from "./scenes.ts";

/** The service's counts since the start. */
export interface Sum {
  readonly seen: number;
  readonly created: number;
  readonly unauthorized: number;
  readonly refused: number;
  /** Answers that broke off on the way back. */
  readonly cut: number;
  readonly tokenRequests: number;
  readonly tokensIssued: number;
}

export function sumUp({ simulator }: Pick<Demo, "simulator">): Sum {
  const { apiRequests, accepted, unauthorized, refused, cut, tokenRequests, tokensIssued } = simulator.counts();
  return { seen: apiRequests, created: accepted, unauthorized, refused, cut, tokenRequests, tokensIssued };
}

export function formatTitle(): string {
  return `${paint("bold", `Countersign ${version}, a demonstration`)}: all of it runs on this machine`;
}

/** The processes, their addresses and the list of scenes, on one screen. */
export function formatOpening({ url, statusUrl, metricsUrl, simulator, configFile, taken }: Demo): string[] {
  const addresses = [url, simulator.apiUrl, simulator.loginUrl];
  const column = Math.max(...addresses.map((address) => address.length)) + 3;
  const place = (label: string, address: string, what: string) =>
    entry(label, `${address.padEnd(column)}${paint("dim", what)}`);
  return [
    "",
    place("you call", url, "Countersign"),
    place("it calls", simulator.apiUrl, "the service, simulated"),
    place("tokens from", simulator.loginUrl, "its authorization server"),
    place("status page", `${statusUrl}/`, "open it in a browser"),
    place("metrics", metricsUrl, "for Prometheus"),
    entry("configured in", configFile),
    ...(taken.length === 0 ? [] : [entry("taken", `${taken.join(", ")}; free ports stand in`)]),
    "",
    `   It has fetched ${countOf(simulator.counts().tokensIssued, "token")} so far, one for each site that has credentials.`,
    `   ${paint("green", "+ added by Countersign")}   ${paint("yellow", "~ rewritten by it")}   •••• a token, not shown`,
    "",
    ...scenes.map(({ title }, index) => `   ${index + 1}  ${title}`),
    "",
  ];
}

/** The keys that a person may press before the scene with this number, or after the last scene. */
export function formatPrompt(number: number): string {
  const keys =
    number > scenes.length
      ? [["Enter", "what you can try"]]
      : [
          ["Enter", `scene ${number} of ${scenes.length}`],
          ["a", "all that are left"],
        ];
  const shown = [...keys, ["q", "the end"]].map(([key = "", meaning]) => `${paint("bold", key)}: ${meaning}`);
  return `   ${shown.join("   ")} `;
}

export function formatSum(sum: Sum): string[] {
  const { seen, created, cut, refused, tokensIssued, tokenRequests, unauthorized } = sum;
  const saw = [
    countOf(seen, "request"),
    `${countOf(created, "order")} created`,
    ...(refused === 0 ? [] : [`${refused} refused`]),
    ...(cut === 0 ? [] : [`${countOf(cut, "answer")} lost on the way`]),
  ];
  return [
    paint("bold", "In all"),
    "",
    entry("the service saw", saw.join(", ")),
    entry("tokens issued", `${tokensIssued}, for ${countOf(tokenRequests, "token request")}`),
    entry("401 answers", `${unauthorized}`),
  ];
}

/** How many scenes went as expected, and how many were not shown. */
export function formatScore(good: number, shown: number): string {
  const left = scenes.length - shown;
  const score = `${good} of ${scenes.length} ok${left === 0 ? "" : `, ${left} not shown`}`;
  return entry("scenes", paint(good === shown ? "green" : "red", score));
}

/** Shell commands with the base URL and with a proxy setting; no line is longer than 80 columns. */
export function formatInvitation({ url, simulator, statusUrl, metricsUrl }: Demo): string[] {
  const [countersign, service] = [url, simulator.apiUrl].map((address) => address.replace("http://", ""));
  const order = `curl -i --json '{"order_amount":10}'`;
  return [
    paint("bold", "Now you"),
    "",
    `${order} ${countersign}/create_order`,
    `curl -i --json '{"order_amount":10.005}' ${countersign}/create_order`,
    "",
    "The same with a proxy setting, for applications that have no base URL to set:",
    "",
    // --noproxy: a no_proxy of the shell would let the request past Countersign.
    `${order} -x ${countersign} --noproxy '' \\`,
    `     ${service}/create_order`,
    "",
    entry("status page", `${statusUrl}/`),
    entry("metrics", metricsUrl),
    entry("curl before 7.82", "-H content-type:application/json -d   in place of --json"),
    "",
    "   Ctrl-C ends it.",
  ];
}

function entry(label: string, text: string): string {
  return `   ${paint("dim", label.padEnd(18))}${text}`;
}
