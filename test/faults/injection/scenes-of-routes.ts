import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { chunked } from "../../../testkit/raw-caller.ts";
import { ask, headers, leave, type Scene } from "./ask.ts";

/** More than one read and one write take. */
const big = "x".repeat(300_000);
const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello";

/** A request of the pass-through route; the service has nothing there, and says so. */
function request(line: string, more: readonly string[] = [], body = ""): string {
  const lines = [`${line} HTTP/1.1`, "Host: 127.0.0.1", "Connection: close", headers.authorised, ...more];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** What callers and the service do below a pass-through route. */
export const scenesOfRoutes: readonly Scene[] = [
  {
    name: "bodies that pass through, and one that is asked for",
    play: async (lane) => [
      await ask(lane, request("GET /files/a")),
      await ask(lane, request("PUT /files/a", ["Transfer-Encoding: chunked"], chunked("some"))),
      await ask(lane, request("PUT /files/a", [`Content-Length: ${big.length}`, "Expect: 100-continue"], big)),
    ],
  },
  {
    name: "a connection that switches, and says something both ways",
    async play(lane) {
      lane.simulator.faults.add({ host: "api", kind: "raw", bytes: switched, close: false });
      const socket = connect(lane.socketPath).on("error", () => {});
      const asking = ["Upgrade: websocket", "Sec-WebSocket-Version: 13"];
      socket.write(request("GET /files/live", asking).replace("Connection: close", "Connection: Upgrade"));
      socket.once("data", () => socket.write("back"));
      await delay(100);
      socket.destroy();
      await delay(20);
      lane.simulator.faults.clear();
      return [];
    },
  },
  {
    name: "callers of a route that leave",
    async play(lane) {
      await leave(lane, request("PUT /files/a", ["Content-Length: 500"], "some"));
      lane.simulator.faults.add({ host: "api", kind: "hang" });
      await leave(lane, request("GET /files/a"));
      lane.simulator.faults.clear();
      return [];
    },
  },
  {
    name: "a service of a route that breaks off, or is not there",
    async play(lane) {
      const { faults } = lane.simulator;
      faults.add({ host: "api", kind: "reset", when: "before_reading" });
      const broken = await ask(lane, request("PUT /files/a", ["Content-Length: 4"], "some"));
      faults.clear();
      await lane.simulator.stopApi();
      const refused = await ask(lane, request("GET /files/a"));
      await lane.simulator.startApi();
      return [broken, refused];
    },
  },
];
