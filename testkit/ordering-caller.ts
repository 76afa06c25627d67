import { connect, type NetConnectOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectSecurely } from "node:tls";
import { searchAnswers } from "../test/leaks/outflow.ts";
import { type RawPost, rawPost } from "./raw-caller.ts";
import { type RawAnswer, readAnswer } from "./raw-order.ts";

/** How the other side ended a connection: orderly (FIN), or by a reset (RST). */
export type End = "fin" | "rst";

export interface Ordered {
  readonly answer: RawAnswer;
  readonly text: string;
  readonly end: End;
}

/** One order on a connection of its own, every byte that came back, and how the connection ended. */
export function orderToTheEnd(to: NetConnectOpts | ConnectionOptions, given: RawPost = {}): Promise<Ordered> {
  return new Promise((resolve) => {
    const socket: Socket =
      "ca" in to
        ? connectSecurely({ ...to, allowHalfOpen: true } as ConnectionOptions)
        : connect({ ...(to as NetConnectOpts), allowHalfOpen: true });
    const isUnix = "path" in to && to.path !== undefined;
    let text = "";
    let end: End = "rst";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      searchAnswers(text);
      resolve({ answer: readAnswer(text), text, end });
    });
    // A reset that comes together with bytes looks like an orderly end (libuv), but then there is no peer any more.
    socket.on("end", () => {
      if (isUnix || socket.remoteAddress !== undefined) end = "fin";
      socket.destroy();
    });
    socket.write(rawPost(given), "latin1");
  });
}
