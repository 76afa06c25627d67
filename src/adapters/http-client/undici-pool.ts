import type { Socket } from "node:net";
import type { buildConnector } from "undici";
// The package's own entry would load fetch, WebSocket and caches too: half of its code, and 8 MiB.
import Pool from "undici/lib/dispatcher/pool.js";
import type { Clock } from "../../model/clock.ts";
import { type Connect, createConnect } from "./connect.ts";
import type { PoolSettings } from "./connection-pool.ts";
import { ResponseHeads } from "./response-heads.ts";
import { keepAliveMarginMs, keepAliveMs, longestKeepAliveMs } from "./response-rules.ts";
import type { Transport } from "./transport.ts";
import { resetCode } from "./transport-error.ts";

export type { Pool };

/** To an authorization server, or an application that takes callbacks. Undici's own timeouts are off: the deadline of each request rules them all. */
export function openPool(settings: PoolSettings, clock: Clock): Pool {
  const connecting = new Set<Transport>();
  const pool = new Pool(settings.address.origin, {
    connections: settings.connections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: longestKeepAliveMs,
    keepAliveTimeoutThreshold: keepAliveMarginMs,
    allowH2: false,
    connect: createConnector(createConnect(settings, clock), connecting),
  });
  const destroy = pool.destroy.bind(pool) as (...given: unknown[]) => Promise<void>;
  // Undici leaves these alone, and each would keep the process alive until `timeouts.connect`.
  pool.destroy = ((...given: unknown[]) => {
    for (const transport of connecting) transport.destroy();
    connecting.clear();
    return destroy(...given);
  }) as Pool["destroy"];
  return pool;
}

/**
 * Connects as the other pools do, and puts these checks between each new connection and undici's parser.
 * @param connecting holds each connection while it is being made
 */
function createConnector(connect: Connect, connecting: Set<Transport>): buildConnector.connector {
  return (_, callback) => {
    const transport = connect({
      onReady(socket) {
        connecting.delete(transport);
        markResets(socket);
        checkHeads(socket);
        callback(null, socket);
      },
      onFailed(error) {
        connecting.delete(transport);
        callback(error as Error, null);
      },
    });
    connecting.add(transport);
  };
}

/**
 * Undici takes a reset for the orderly end of a body that only the close ends, and so a part for the whole (row 45). It
 * knows a reset by its code, so an established connection that is reset fails under another one.
 */
function markResets(socket: Socket): void {
  socket.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "ECONNRESET") error.code = resetCode;
  });
}

/** Every byte that arrives passes through `push`, and every request through `write`. */
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
 * Node reports a reset that comes together with bytes as an orderly end (libuv, uv__stream_io). The system knows better: a
 * connection that was reset has no peer any more, one whose peer has ended still has it. Nothing may ask for the address
 * before, since Node remembers it.
 * @throws Error where it was a reset
 */
function checkEnd(socket: Socket): void {
  if (socket.remoteAddress === undefined) throw Object.assign(new Error("reset"), { code: resetCode });
}
