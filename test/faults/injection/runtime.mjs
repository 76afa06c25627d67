// Loaded before the instrumented proxy (node --import): answers its questions, and accepts orders on a Unix socket, as lines
// of JSON. An order in the environment applies from the start of the process.
import { EventEmitter } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, Socket } from "node:net";
import { Stream } from "node:stream";

const { COUNTERSIGN_FAULTS_SOCKET: path, COUNTERSIGN_FAULTS_ARMED: atStart } = process.env;
const { exit } = process;

const reached = new Set();
const objects = new Map();
let armed;
let hasFired = false;
/** Counts the orders to arm. It stands in the stack of the trial's failure: a line about it may come in a later trial. */
let trial = 0;
/** The exit codes of ends that are held back: starting a new process for each would take most of the time. */
let held = [];
let isHolding = false;

/** A failure that a connection can meet, or a file or a port. */
function foreseen(isPlace = false) {
  return isPlace
    ? Object.assign(new Error("listen EACCES: permission denied"), { code: "EACCES", errno: -13, syscall: "listen" })
    : Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", errno: -104, syscall: "read" });
}

/** A programming error. Its message contains a canary, which must not be shown. */
function defect() {
  return new TypeError("canary: cannot read what somebody sent");
}

function fire() {
  const { how, isPlace } = armed;
  armed = undefined;
  hasFired = true;
  const name = `trial${trial}`;
  return { [name]: () => (how === "foreseen" ? foreseen(isPlace) : defect()) }[name]();
}

function isArmed(id) {
  reached.add(id);
  return armed?.id === id;
}

/** Whether an object can break down: the process itself cannot, and a server only while it listens. */
function isThere(object) {
  return object instanceof EventEmitter && object !== process && object.listening !== false;
}

function breakDown(object) {
  const error = foreseen();
  if (object instanceof Stream && typeof object.destroy === "function") object.destroy(error);
  else object.emit("error", error);
}

globalThis.__faults = {
  at: isArmed,
  /** Rejects a turn of the loop later, as failures from outside do. */
  refused() {
    const error = fire();
    return new Promise((_, reject) => setImmediate(() => reject(error)));
  },
  enter(id) {
    if (isArmed(id)) throw fire();
  },
  each(id, iterable) {
    if (!isArmed(id)) return iterable;
    const error = fire();
    return (async function* () {
      for await (const piece of iterable) {
        yield piece;
        throw error;
      }
    })();
  },
  emitter(id, object) {
    objects.set(id, [...(objects.get(id) ?? []).slice(-20), new WeakRef(object)]);
    if (isArmed(id)) {
      fire();
      setImmediate(() => isThere(object) && breakDown(object));
    }
    return object;
  },
};

const orders = {
  arm({ id, how, isPlace, holds }) {
    trial += 1;
    armed = { id, how, isPlace };
    hasFired = false;
    held = [];
    isHolding = holds;
    return trial;
  },
  /** Ends the trial. */
  outcome() {
    armed = undefined;
    return { hasFired, exits: held };
  },
  reached() {
    const all = [...reached];
    reached.clear();
    return all;
  },
  /** Lets an emitter that exists since the start fail now. */
  fail({ id }) {
    held = [];
    isHolding = true;
    const object = (objects.get(id) ?? []).map((each) => each.deref()).findLast(isThere);
    setImmediate(() => object !== undefined && breakDown(object));
    return object !== undefined;
  },
  /** Moves all clocks forward by so much, but no timers. */
  skip({ ms }) {
    skippedMs += ms;
  },
};

let skippedMs = 0;
const now = performance.now.bind(performance);
performance.now = () => now() + skippedMs;

process.exit = (...code) => {
  if (!isHolding) return exit(...code);
  held.push(code[0] ?? process.exitCode);
  // A real end would close all connections, so they are closed.
  for (const handle of process._getActiveHandles()) {
    if (handle instanceof Socket && handle.server && handle.server !== control) handle.destroy();
  }
};

// The last report, since the process cannot be asked any more.
process.on("exit", () => writeFileSync(`${path}.end`, JSON.stringify({ hasFired, reached: [...reached] })));
if (atStart) armed = JSON.parse(atStart);
const control = createServer((socket) => {
  socket.unref();
  socket.on("error", () => {});
  let rest = "";
  socket.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const order = JSON.parse(line);
      const answer = orders[order.order](order) ?? null;
      // A failure that has fired takes effect in the next turn of the loop, and so does its end: this answer must come after that.
      setImmediate(() => socket.write(`${JSON.stringify({ answer })}\n`));
    }
  });
})
  .listen(path)
  .unref();
