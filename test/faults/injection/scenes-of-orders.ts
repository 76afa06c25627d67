import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { paymentsCertificate } from "../../../testkit/caller-certificates.ts";
import { clientKey } from "../../../testkit/certificates.ts";
import { rawPost } from "../../../testkit/raw-caller.ts";
import { ask, authorised, headers, leave, page, readSlowly, type Scene, secured, signed } from "./ask.ts";

const big = `{"order_type":"${"x".repeat(100_000)}"}`;
const slowly = "Countersign-Timeout-Ms: 300";

/** What callers and the service do. */
export const scenesOfOrders: readonly Scene[] = [
  { name: "a signed order", play: async (lane) => [await signed(lane)] },
  { name: "an authorised order", play: async (lane) => [await authorised(lane)] },
  {
    name: "an order through a forward proxy",
    play: async (lane) => [await ask(lane, rawPost({}), connect(lane.outSocketPath))],
  },
  {
    name: "metrics, readiness and a page that is not there",
    play: async (lane) => [await page(lane, "/metrics"), await page(lane, "/readyz"), await page(lane, "/other")],
  },
  {
    name: "requests that are refused",
    play: async (lane) => [
      await ask(lane, "nonsense\r\n\r\n"),
      await ask(lane, "CONNECT api.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
      await ask(lane, rawPost({ body: big.repeat(3) })),
      await ask(lane, rawPost({ body: "[]" })),
      await ask(
        lane,
        rawPost({ framing: ["Content-Length: 50"], body: "{}" }).replace("Host", "Expect: other\r\nHost"),
      ),
      await ask(lane, rawPost({ framing: ["Transfer-Encoding: chunked"], body: "z\r\n" })),
    ],
  },
  {
    name: "an order whose body is asked for, and two at once",
    play: async (lane) => [
      await ask(lane, rawPost({ more: [headers.signed, "Expect: 100-continue"] })),
      await ask(
        lane,
        rawPost({ connection: [], more: [headers.signed] }) +
          rawPost({ more: [headers.signed, "Expect: 100-continue"] }),
      ),
    ],
  },
  {
    name: "callers that leave",
    async play(lane) {
      const { simulator } = lane;
      await leave(lane, rawPost({ framing: ["Content-Length: 500"] }));
      simulator.faults.add({ host: "api", kind: "hang" });
      await leave(lane, rawPost({ more: [headers.signed] }));
      simulator.faults.clear();
      return [];
    },
  },
  {
    name: "an order with a key of its own, and its repetition",
    async play(lane) {
      const once = rawPost({ more: [headers.signed, `Countersign-Once: ${randomUUID()}`] });
      lane.simulator.faults.add({ host: "api", kind: "drip", chunkBytes: 100, intervalMs: 20 });
      const both = await Promise.all([ask(lane, once), ask(lane, once)]);
      return [...both, await ask(lane, once)];
    },
  },
  {
    name: "an order with a key of its own that is left unknown",
    async play(lane) {
      lane.simulator.faults.add({ host: "api", kind: "answer", status: 503 });
      return [await ask(lane, rawPost({ more: [headers.signed, `Countersign-Once: ${randomUUID()}`] }))];
    },
  },
  { name: "a reader that takes its time", play: readSlowly },
  {
    name: "a service that breaks off, or takes too long",
    async play(lane) {
      const { faults } = lane.simulator;
      faults.add({ host: "api", kind: "reset", when: "before_reading" });
      const broken = await signed(lane);
      faults.add({ host: "api", kind: "truncate" });
      const cut = await signed(lane);
      faults.add({ host: "api", kind: "hang" });
      const late = await ask(lane, rawPost({ more: [headers.signed, slowly] }));
      faults.clear();
      return [broken, cut, late];
    },
  },
  {
    name: "a service that is not there",
    async play(lane) {
      await lane.simulator.stopApi();
      const reply = await signed(lane);
      await lane.simulator.startApi();
      return [reply];
    },
  },
  {
    name: "callers with a certificate, and without",
    async play(lane) {
      const good = rawPost({ more: [headers.signed] });
      const reply = await ask(lane, good, secured(lane, { key: clientKey, cert: paymentsCertificate }));
      await ask(lane, good, secured(lane));
      await ask(lane, good, connect(lane.tlsPort, "127.0.0.1"));
      return [reply];
    },
  },
];
