import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** The ports of the demo on loopback: the proxy's three, and the simulated service's two. */
export interface DemoPorts {
  readonly listener: number;
  readonly admin: number;
  readonly status: number;
  readonly api: number;
  readonly login: number;
}

export const usualPorts: DemoPorts = { listener: 7411, admin: 7412, status: 7413, api: 7421, login: 7422 };

/** The wanted ports; a taken port is replaced by a free one. All stay bound until the last is found, so no two are equal. */
export async function choosePorts(wanted: DemoPorts): Promise<DemoPorts> {
  const bound: Server[] = [];
  const choose = async (port: number) => {
    const server = (await bind(port)) ?? (await bind(0));
    if (server === undefined) throw new Error("no port is free on 127.0.0.1");
    bound.push(server);
    return (server.address() as AddressInfo).port;
  };
  try {
    return {
      listener: await choose(wanted.listener),
      admin: await choose(wanted.admin),
      status: await choose(wanted.status),
      api: await choose(wanted.api),
      login: await choose(wanted.login),
    };
  } finally {
    await Promise.all(bound.map((server) => new Promise((closed) => server.close(closed))));
  }
}

/** Listens on the port; undefined if it is taken. */
async function bind(port: number): Promise<Server | undefined> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  return once(server, "listening").then(
    () => server,
    () => undefined,
  );
}
