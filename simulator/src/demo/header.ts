import { paint } from "countersign/cli/terminal";
import { version } from "countersign/version";
import type { Demo } from "./env.ts";
import { formatCount } from "./layout.ts";

/** What the service has counted since the start. */
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

/** What stands above the scenes. */
export function formatOpening({ url, simulator, configFile, taken }: Demo): string[] {
  const addresses = [url, simulator.apiUrl, simulator.loginUrl];
  const column = Math.max(...addresses.map((address) => address.length)) + 3;
  const place = (label: string, address: string, what: string) =>
    entry(label, `${address.padEnd(column)}${paint("dim", what)}`);
  return [
    paint("bold", `Countersign ${version}, a demonstration`),
    "",
    place("you call", url, "Countersign"),
    place("it calls", simulator.apiUrl, "the service, simulated"),
    place("tokens from", simulator.loginUrl, "its authorization server"),
    entry("configured in", configFile),
    ...(taken.length === 0 ? [] : [entry("taken", `${taken.join(", ")}; free ports stand in`)]),
    "",
    `   It has fetched ${formatCount(simulator.counts().tokensIssued, "token")} so far, one for each site that has credentials.`,
    `   ${paint("green", "+ added by Countersign")}   ${paint("yellow", "~ rewritten by it")}   •••• a token, not shown`,
    "",
  ];
}

export function formatSum(sum: Sum): string[] {
  const { seen, created, cut, refused, tokensIssued, tokenRequests, unauthorized } = sum;
  const saw = [
    formatCount(seen, "request"),
    `${formatCount(created, "order")} created`,
    ...(refused === 0 ? [] : [`${refused} refused`]),
    ...(cut === 0 ? [] : [`${formatCount(cut, "answer")} lost on the way`]),
  ];
  return [
    paint("bold", "In all"),
    "",
    entry("the service saw", saw.join(", ")),
    entry("tokens issued", `${tokensIssued}, for ${formatCount(tokenRequests, "token request")}`),
    entry("401 answers", `${unauthorized}`),
  ];
}

/** How many scenes are as they should be. */
export function formatScore(good: number, all: number): string {
  return entry("scenes", paint(good === all ? "green" : "red", `${good} of ${all} ok`));
}

const body = '{"order_amount":10,"order_currency":"EUR","site_customer_identifier":"customer_1"}';
const json = "-H 'Content-Type: application/json'";

/** Lines for the shell: the base URL first, then the same through a proxy setting. */
export function formatInvitation({ url, simulator, statusUrl, metricsUrl }: Demo): string[] {
  return [
    paint("bold", "Now you"),
    "",
    `curl -i ${json} -d '${body}' ${url}/create_order`,
    "",
    "The same with a proxy setting, for applications that have no base URL to set:",
    "",
    // --noproxy: a no_proxy of the shell would let the request past Countersign.
    `http_proxy=${url} curl -i --noproxy '' ${json} -d '${body}' ${simulator.apiUrl}/create_order`,
    "",
    entry("status", statusUrl),
    entry("metrics", metricsUrl),
    "",
    "   Ctrl-C ends it.",
  ];
}

function entry(label: string, text: string): string {
  return `   ${paint("dim", label.padEnd(18))}${text}`;
}
