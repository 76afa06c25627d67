import type { Server } from "node:http";
import { listen } from "../adapters/node-http/listen.ts";
import type { Bind } from "../bind.ts";

/** A server and where it is to listen. */
export interface Placed {
  readonly server: Server;
  readonly bind: Bind;
}

export interface OpenServers {
  /** Where each one listens now. */
  readonly binds: readonly Bind[];
  /** Ends them and every connection. */
  close(): void;
}

/** Listens with all of them, or with none: where one place cannot be had, the others are given back. */
export async function openServers(placed: readonly Placed[]): Promise<OpenServers> {
  const close = () => {
    for (const { server } of placed) {
      server.close();
      server.closeAllConnections();
    }
  };
  const binds: Bind[] = [];
  try {
    for (const { server, bind } of placed) binds.push(await listen(server, bind));
  } catch (error) {
    close();
    throw error;
  }
  return { binds, close };
}
