import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Bounds the connections of a server, and yet never refuses a new one: the connection is closed on which nothing has been
 * answered for the longest time. So a crowd of idle or slow connections cannot keep probes away.
 * @param most connections that stay open
 */
export function keepRoomForNew(server: Server, most: number): void {
  /** By their last sign of life, the oldest first; and the answers that are under way on each. */
  const underWay = new Map<Socket, number>();
  const touch = (socket: Socket, change: number) => {
    const answers = underWay.get(socket);
    if (answers === undefined) return;
    underWay.delete(socket);
    underWay.set(socket, answers + change);
  };
  server.on("connection", (socket: Socket) => {
    if (underWay.size >= most) {
      const [oldest] = underWay.keys();
      const idle = [...underWay].find(([, answers]) => answers === 0)?.[0];
      const leaving = idle ?? oldest;
      if (leaving !== undefined) {
        underWay.delete(leaving);
        leaving.destroy();
      }
    }
    underWay.set(socket, 0);
    socket.once("close", () => underWay.delete(socket));
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    touch(socket, 1);
    response.once("close", () => touch(socket, -1));
  });
}
