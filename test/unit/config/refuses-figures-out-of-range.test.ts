import { after, atTheEnd, inSandbox, itRefuses, type Refusal } from "./refusal.ts";

const figures: readonly Refusal[] = [
  ["timeouts: { request: 20 }", "timeouts.request", /20s/],
  ["timeouts: { request: 20 s }", "timeouts.request", /20s/],
  ["timeouts: { request: 1h }", "timeouts.request", /100ms to 600s|10m/],
  ["timeouts: { connect: 1ms }", "timeouts.connect", /10ms to 60s/],
  ["timeouts: { token: 2m }", "timeouts.token", /10ms to 60s/],
  ["limits: { inFlightPerEnvironment: 0 }", "limits.inFlightPerEnvironment", /from 1 to 100000/],
  ["limits: { connections: 1000000 }", "limits.connections", /from 1 to 100000/],
  ["limits: { bodyBytes: 1.5 }", "limits.bodyBytes", /whole number/],
  ["limits: { bodyBytes: 1073741824 }", "limits.bodyBytes", /from 1024 to 16777216/],
  ["drain: { minSeconds: -1 }", "drain.minSeconds", /0/],
  ["log: { level: verbose }", "log.level", /info/],
  ["reload: { unreadyAfterRefusal: 999ms }", "reload.unreadyAfterRefusal", /1000ms to 3600s/],
  ["reload: { unreadyAfterRefusal: 61m }", "reload.unreadyAfterRefusal", /1000ms to 3600s/],
  ["readiness: maybe", "readiness", /listening or token/],
].map(([line, path, fix]) => ({
  what: `${line}`,
  yaml: atTheEnd(`${line} # here`),
  path: String(path),
  message: /./,
  fix: fix as RegExp,
}));

itRefuses("figures out of range", figures);

const undecided: readonly Refusal[] = [
  ["[404]", "[0]", /404 is less than 500/, /^write a number from 500 to 599/],
  ["[502, 600]", "[1]", /600 is more than 599/, /^write a number from 500 to 599/],
  ["[502.5]", "[0]", /must be a whole number/, /^write a whole number/],
  ['["502"]', "[0]", /must be a number/, /^write a number/],
  ["502", "", /must be a list/, /^write a list/],
].map(([given, place, message, fix]) => ({
  what: `undecided: ${given}`,
  yaml: after(inSandbox, `    undecided: ${given} # here`),
  path: `environments.sandbox.undecided${place}`,
  message: message as RegExp,
  fix: fix as RegExp,
}));

itRefuses("statuses that cannot be undecided", undecided);
