/** A listener with TLS does what any listener does. */
import { once } from "node:events";
import { expect, it } from "vitest";
import { authority } from "../../../testkit/certificates.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { type RawAnswer, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import type { StageOptions } from "../../../testkit/stage.ts";
import { callSecurely, keptConnection, known, openSecurely, payments, stageWithCallers, troubleOf } from "./callers.ts";

const stage = (options: StageOptions = {}) => stageWithCallers(payments, options);

it("serves many requests on one connection, and several at once in their order", async () => {
  const { port } = await stage();
  const kept = keptConnection();
  await kept(port);
  expect(await kept(port)).toMatchObject({ status: 200, isSameConnection: true });
  const pipelined = `${rawPost({ connection: [] }).repeat(2)}${rawPost({ target: "/delete_all" })}`;
  expect((await answersTo(port, pipelined)).map(({ status }) => status)).toEqual([200, 200, 403]);
});

it("answers bytes that are no HTTP, an endless head and a CONNECT over TLS, and closes", async () => {
  const { port, recorder } = await stage();
  const ask = async (bytes: string) => {
    const [answer] = await answersTo(port, bytes);
    return [answer?.status, answer?.headers["countersign-error"]];
  };
  expect(await ask("BLAH blah\r\n\r\n")).toEqual([400, "malformed_request"]);
  expect(await ask(`POST / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`)).toEqual([431, "headers_too_large"]);
  expect(await ask("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n")).toEqual([405, "method_not_allowed"]);
  expect(recorder.count("handshake_failed")).toBe(0);
});

it("answers 503 to connections beyond the limit, and does not count those that are gone", async () => {
  const { port, recorder } = await stage({ limits: { connections: 2 } });
  const open = [await openSecurely(port), await openSecurely(port)];
  expect(await callSecurely(port)).toMatchObject({ status: 503, json: { code: "overloaded" } });
  // A failed handshake gives its place back.
  for (let round = 0; round < 5; round += 1) await troubleOf(port, { ca: authority });
  await recorder.nth("handshake_failed", 5);
  for (const socket of open) {
    socket.end();
    await once(socket, "close");
  }
  for (let round = 0; round < 5; round += 1) expect((await callSecurely(port)).status).toBe(200);
});

it("drains: answers open requests, tells callers to close, and closes idle connections", async () => {
  const { port, adminUrl, proxy } = await stage();
  const idle = await openSecurely(port);
  const kept = keptConnection();
  await kept(port);
  const busy = await RawConnection.open({ ...known, host: "localhost", port });
  const body = '{"order_amount":"10.00"}';
  busy.write(rawPost({ connection: [], framing: [`Content-Length: ${body.length}`], body: body.slice(0, 5) }));
  await whenInFlight({ adminUrl }, 1);
  const stopped = proxy.stop("SIGTERM");
  await once(idle, "close");
  busy.write(body.slice(5));
  const [answer, ...more] = readAnswers(await busy.ended());
  expect(more).toEqual([]);
  expect(answer).toMatchObject({ status: 200, headers: { connection: "close" } });
  expect(await stopped).toBe(true);
  expect(await troubleOf(port, known)).toBe("ECONNREFUSED");
});

/** All answers to these bytes, on a connection of their own. */
async function answersTo(port: number, bytes: string): Promise<RawAnswer[]> {
  const connection = await RawConnection.open({ ...known, host: "localhost", port });
  return readAnswers(await connection.write(bytes).ended());
}
