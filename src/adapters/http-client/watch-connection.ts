import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import { ResponseHeads } from "./response-heads.ts";
import { resetCode } from "./transport-error.ts";

/** Puts these checks between each new connection and undici's parser. */
export function watchConnections(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result;
      // Undici's type says null where no connection came about; it is undefined.
      if (socket) {
        tellResets(socket);
        checkHeads(socket);
      }
      callback(...result);
    });
}

/**
 * Undici takes a reset for the orderly end of a body that only the close ends, and so a part for the whole (row 45). It
 * knows a reset by its code, so an established connection that is reset fails under another one.
 */
function tellResets(socket: Socket): void {
  socket.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "ECONNRESET") error.code = resetCode;
  });
}

/** Every byte that comes goes through `push`, and every request through `write`. */
function checkHeads(socket: Socket): void {
  const heads = new ResponseHeads();
  const push = socket.push.bind(socket);
  const write = socket.write.bind(socket) as Socket["write"];
  socket.write = ((...given: Parameters<Socket["write"]>) => {
    heads.expect();
    return write(...given);
  }) as Socket["write"];
  socket.push = (chunk: Buffer | null) => {
    try {
      if (chunk === null) {
        checkEnd(socket);
        return push(null);
      }
      const checked = heads.take(chunk);
      return checked.length === 0 || push(checked);
    } catch (error) {
      socket.destroy(error as Error);
      return false;
    }
  };
}

/**
 * A reset that comes together with bytes is told to a Node program as an orderly end (libuv, uv__stream_io). The system
 * knows better: a connection that was reset has no peer any more, one whose peer has ended still has it. Nothing may ask
 * for the address before, since Node remembers it.
 * @throws Error where it was a reset
 */
function checkEnd(socket: Socket): void {
  if (socket.remoteAddress === undefined) throw Object.assign(new Error("reset"), { code: resetCode });
}
