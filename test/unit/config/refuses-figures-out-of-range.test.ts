import { atTheEnd, fault, inSandbox, itRefuses } from "./refusal.ts";

const figures = [
  ["timeouts: { request: 20 }", 'timeouts.request: 20 has no unit … ms, s, m or h, like "20s"'],
  ["timeouts: { request: 20 s }", "timeouts.request: 20s"],
  ["timeouts: { request: 1h }", "timeouts.request: 1h is more than 10m, the most … from 100ms to 10m"],
  ["timeouts: { connect: 1ms }", "timeouts.connect: 1ms is less than 10ms, the least … from 10ms to 1m"],
  ["timeouts: { token: 2m }", "timeouts.token: 10ms to 1m"],
  ["limits: { inFlightPerEnvironment: 0 }", "limits.inFlightPerEnvironment: from 1 to 100000"],
  ["limits: { connections: 1000000 }", "limits.connections: 1000000 is more than 100000 … from 1 to 100000"],
  ['limits: { connections: "100" }', "limits.connections: without quotes or unit … from 1 to 100000"],
  ["limits: { connections: 30s }", "limits.connections: without quotes or unit … from 1 to 100000"],
  ["limits: { bodyBytes: 1.5 }", "limits.bodyBytes: whole number"],
  ["limits: { bodyBytes: 1 }", "limits.bodyBytes: 1 is less than 1024 … from 1024 to"],
  ["limits: { bodyBytes: 1073741824 }", "limits.bodyBytes: from 1024 to 16777216"],
  ["drain: { min: 61m }", "drain.min: 0s to 1h"],
  ["log: { level: verbose }", "log.level: info"],
  ["reload: { unreadyAfterRefusal: 999ms }", "reload.unreadyAfterRefusal: 1s to 1h"],
  ["reload: { unreadyAfterRefusal: 61m }", "reload.unreadyAfterRefusal: 1s to 1h"],
  ["readiness: maybe", "readiness: listening or token"],
] as const;

itRefuses(
  "figures out of range",
  figures.map(([line, said]) => fault(atTheEnd(line), said)),
);

const undecided = [
  ["[404]", "[0]: 404 is less than 500 … write a number from 500 to 599"],
  ["[502, 600]", "[1]: 600 is more than 599 … write a number from 500 to 599"],
  ["[502.5]", "[0]: must be a whole number … write a whole number"],
  ['["502"]', "[0]: must be a number … write a number"],
  ["502", ": must be a list … write a list"],
] as const;

itRefuses(
  "statuses that cannot be undecided",
  undecided.map(([given, said]) => fault(inSandbox(`undecided: ${given}`), `.undecided${said}`)),
);
