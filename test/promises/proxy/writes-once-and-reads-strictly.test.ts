/** One request on one connection to the service: the bytes written, and how the response is read. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { TLSSocket, type TlsOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { serverTls, trusting } from "../../../testkit/certificates.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { bodyOf, openServicePool } from "../../../testkit/service-pool.ts";

const ok = "HTTP/1.1 200 OK\r\n";

const answersWell = (socket: Socket) => void socket.write(rawAnswer(200, "{}"));

describe("the request that is written", () => {
  it.each(["{}", '"Zürich"', '"\u0101\u010a\u010d"', '"😀"', `"${"ü".repeat(100_000)}"`, `"${"x".repeat(300_000)}"`])(
    "has the body in UTF-8, with its length in bytes (%#)",
    async (text) => {
      const { outcome, upstream } = await startPool(answersWell);
      expect(await outcome({ headers: ["x-latin", "Z\xfcrich"], render: () => text })).toBe("200 {}");
      const [request] = upstream.requests;
      expect(Buffer.from(request?.body ?? "", "latin1").toString("utf8") === text).toBe(true);
      expect(request?.head).toContain("x-latin: Z\xfcrich");
      expect(request?.head).toMatch(new RegExp(`content-length: ${Buffer.byteLength(text)}$`));
    },
  );

  it.each([[["x", "a\r\nx-forged: 1"]], [["x\r\nx-forged: 1\r\ny", "a"]]])(
    "cannot get further lines by a value (%j)",
    async (headers) => {
      const { outcome, upstream } = await startPool(answersWell);
      expect(await outcome({ headers })).toMatch(/^Error/);
      expect(await outcome({ path: "/a HTTP/1.1\r\nx: 1\r\n" })).toMatch(/^Error/);
      expect(await outcome()).toBe("200 {}");
      expect([upstream.requests.length, upstream.connections]).toEqual([1, 1]);
    },
  );

  it("is made when the connection is ready, after `onConnected`", async () => {
    const order: string[] = [];
    const { outcome, upstream } = await startPool((socket) => {
      order.push("came");
      answersWell(socket);
    });
    const onConnected = () => void order.push(`connected ${upstream.connections}`);
    const render = () => {
      order.push("made");
      return "{}";
    };
    await outcome({ onConnected, render });
    expect(order).toEqual(["connected 1", "made", "came"]);
  });
});

describe("a response", () => {
  it("keeps its bytes while the connection serves other requests", async () => {
    let n = 0;
    const { send } = await startPool((socket) => socket.write(rawAnswer(200, String(n++).repeat(1_000))));
    const responses = [];
    for (let index = 0; index < 5; index++) responses.push(await send());
    for (const [index, response] of responses.entries())
      expect(await bodyOf(response)).toBe(String(index).repeat(1_000));
  });

  it.each([
    ["in one piece", [rawAnswer(200, "abcdef")], true],
    ["in pieces, with a length", [`${ok}Content-Length: 6\r\n\r\n`, "ab", "cd", "ef"], false],
    ["in chunks", [`${ok}Transfer-Encoding: chunked\r\n\r\n`, "2\r\nab\r\n", "4\r\ncdef\r\n0\r", "\n\r\n"], false],
  ])("%s is whole at once, or streams, and its connection is used again", async (_name, pieces, isWholeAtOnce) => {
    const { send, upstream } = await startPool(async (socket) => {
      for (const piece of pieces) {
        socket.write(piece);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
    for (let n = 0; n < 3; n++) {
      const response = await send();
      expect(response.body instanceof Uint8Array).toBe(isWholeAtOnce);
      expect(await bodyOf(response)).toBe("abcdef");
      // A response that is complete may be discarded, more than once.
      response.discard();
      response.discard();
    }
    expect(upstream.connections).toBe(1);
  });

  it("that is discarded before its end ends its connection", async () => {
    const closed: Promise<unknown>[] = [];
    const { send, upstream } = await startPool((socket) => {
      closed.push(once(socket, "close"));
      socket.write(`${ok}Content-Length: 2\r\n\r\n{`);
    });
    for (let n = 0; n < 3; n++) (await send()).discard();
    await Promise.all(closed);
    expect(upstream.connections).toBe(3);
  });
});

it("over TLS, connections are kept, and a new one resumes the session", async () => {
  let n = 0;
  const resumed = new Map<Socket, boolean>();
  const answer = (socket: Socket) => {
    n += 1;
    resumed.set(socket, socket instanceof TLSSocket && socket.isSessionReused());
    socket.write(rawAnswer(200, `${n}`, n % 2 === 0 ? "Connection: close\r\n" : ""));
  };
  const { outcome } = await startPool(answer, { tls: serverTls });
  for (let n = 1; n <= 6; n++) expect(await outcome()).toBe(`200 ${n}`);
  expect([...resumed.values()]).toEqual([false, true, true]);
});

/** A pool of connections to a service whose answers the test writes. */
async function startPool(answer: (socket: Socket) => void, over: { readonly tls?: TlsOptions } = {}) {
  const upstream = await startRawUpstream({ ...over, answer: (_request, socket) => answer(socket) });
  return { ...openServicePool(upstream.url, { tls: trusting }), upstream };
}
