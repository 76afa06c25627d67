import { once } from "node:events";
import { chmod, lstat, stat, unlink } from "node:fs/promises";
import { type AddressInfo, connect, type Server } from "node:net";
import { dirname } from "node:path";
import { type Clock, LogThrottle } from "../../model/clock.ts";
import { errorCodeOf } from "../../model/defect.ts";
import type { Report } from "../../model/events.ts";
import type { Bind } from "../../model/listener.ts";

/** Owner and group: a pod's containers share a group; other users of a machine get no access. */
const socketMode = 0o660;

/** As many as the kernel allows (net.core.somaxconn): beyond Node's 511 a burst of callers waits for the kernel's next try, a second or more. */
const backlog = 65_535;

/**
 * Listens, and returns the address, with the port that was chosen for port 0. A socket file that no process listens on
 * any more is removed first; a file in use is an error, as a port in use is.
 */
export async function listen(server: Server, bind: Bind): Promise<Bind> {
  if (bind.kind === "unix") {
    // For a folder that does not exist, Node would report EACCES.
    await stat(dirname(bind.path));
    if (await isStale(bind.path)) await unlink(bind.path);
  }
  const address =
    bind.kind === "unix" ? { path: bind.path } : { port: bind.port, ...(bind.host === "" ? {} : { host: bind.host }) };
  server.listen({ ...address, backlog });
  await once(server, "listening");
  if (bind.kind === "unix") {
    await chmod(bind.path, socketMode);
    return bind;
  }
  return { ...bind, port: (server.address() as AddressInfo).port };
}

/** Reports connections that are lost, such as when the machine can open no more; the server continues to listen. */
export function reportRefusedConnections(
  server: Server,
  { name: listener, report }: { readonly name: string; readonly report: Report },
  clock: Clock,
): void {
  const throttle = new LogThrottle(clock);
  server.on("error", (error) => {
    // If the server cannot listen at all, `listen` throws that error.
    if (!server.listening) return;
    const reason = errorCodeOf(error) ?? "OTHER";
    report({ kind: "accept_failed", listener, reason, isFirst: throttle.isFirst(reason) });
  });
}

/** Connecting to a file that is no socket is refused as well, but such a file must not be removed. */
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
