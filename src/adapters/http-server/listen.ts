import { once } from "node:events";
import { chmod, lstat, stat, unlink } from "node:fs/promises";
import { type AddressInfo, connect, type Server } from "node:net";
import { dirname } from "node:path";
import { type Clock, LogThrottle } from "../../model/clock.ts";
import { errorCodeOf } from "../../model/defect.ts";
import type { Report } from "../../model/events.ts";
import type { Bind } from "../../model/listener.ts";

/** Owner and group: a pod's containers share a group, the rest of a machine does not belong here. */
const socketMode = 0o660;

/**
 * Listens, and tells where: the port that was given where 0 was asked for. A socket file that no process listens on
 * any more is removed first; one in use is an error, as a port in use is.
 */
export async function listen(server: Server, bind: Bind): Promise<Bind> {
  if (bind.kind === "unix") {
    // Of a folder that does not exist, Node would say EACCES.
    await stat(dirname(bind.path));
    if (await isStale(bind.path)) await unlink(bind.path);
  }
  server.listen(
    bind.kind === "unix" ? { path: bind.path } : { port: bind.port, ...(bind.host === "" ? {} : { host: bind.host }) },
  );
  await once(server, "listening");
  if (bind.kind === "unix") {
    await chmod(bind.path, socketMode);
    return bind;
  }
  return { ...bind, port: (server.address() as AddressInfo).port };
}

/** A connection that cannot be taken, where the machine can open no more, say, is lost; the server listens on. */
export function reportRefusedConnections(
  server: Server,
  { name: listener, report }: { readonly name: string; readonly report: Report },
  clock: Clock,
): void {
  const throttle = new LogThrottle(clock);
  server.on("error", (error) => {
    // That it cannot listen at all is an error of `listen`.
    if (!server.listening) return;
    const reason = errorCodeOf(error) ?? "OTHER";
    report({ kind: "accept_failed", listener, reason, isFirst: throttle.isFirst(reason) });
  });
}

/** Connecting to a file that is no socket is refused as well, and such a file has another purpose. */
async function isStale(path: string): Promise<boolean> {
  const isSocket = await lstat(path).then(
    (file) => file.isSocket(),
    () => false,
  );
  return isSocket && (await isRefused(path));
}

async function isRefused(path: string): Promise<boolean> {
  const probe = connect({ path });
  try {
    await once(probe, "connect");
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ECONNREFUSED";
  } finally {
    probe.destroy();
  }
}
