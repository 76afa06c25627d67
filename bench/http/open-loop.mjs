// Sends requests at a steady rate, whether or not earlier ones were answered; latency counts from the planned moment.
// Usage: open-loop.mjs PORT RATE SECONDS JOB. Prints one line of JSON.
import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { jobs } from "./job.mjs";

const [port, rate, seconds] = process.argv.slice(2, 5).map(Number);
const job = process.argv[5];
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const { method, path, body, isKeyed } = jobs[job];
const latencies = [];
let failed = 0;
let sent = 0;
const total = rate * seconds;
const startedMs = performance.now();
const timer = setInterval(sendDue, 1);

function sendDue() {
  const due = Math.min(total, Math.floor(((performance.now() - startedMs) * rate) / 1_000));
  for (; sent < due; sent++) send(startedMs + (sent * 1_000) / rate);
  if (sent === total) clearInterval(timer);
}

function send(plannedMs) {
  const text = typeof body === "function" ? body() : body;
  const headers = {
    "Bench-Job": job,
    ...(text === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) }),
    ...(isKeyed ? { "Countersign-Once": randomUUID() } : {}),
  };
  const call = request({ port, host: "127.0.0.1", method, path, agent, headers }, (answer) => {
    answer.resume();
    answer.on("end", () => finish(plannedMs, answer.statusCode === 200));
  });
  call.on("error", () => finish(plannedMs, false));
  call.end(text);
}

function finish(plannedMs, isGood) {
  if (isGood) latencies.push(performance.now() - plannedMs);
  else failed += 1;
  if (latencies.length + failed < total) return;
  latencies.sort((a, b) => a - b);
  const at = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  process.stdout.write(`${JSON.stringify({ p50Ms: at(0.5), p99Ms: at(0.99), failed })}\n`, () => process.exit());
}
