import { isIP } from "node:net";
import { type Bind, describeBind } from "../../model/listener.ts";
import type { ListenerConfig } from "../config.ts";
import { formatPath } from "../diagnostics.ts";
import type { RawConfig } from "../form/schema.ts";
import { isLocal } from "../form/values.ts";
import { checkRates, loadCallers } from "./callers.ts";
import type { LoadContext } from "./load-context.ts";

/** An address where this process listens. */
interface Binding {
  readonly at: LoadContext;
  readonly bind: Bind;
  /** Only a listener for applications has one. */
  readonly environment?: string;
}

const openToAll =
  "every client that reaches this listener can spend money: it is not on loopback or a Unix socket and has no callers";
const nameCallers =
  "bind it to 127.0.0.1, or say who may call: callers: { NAME: { token: { file: /path } } }, or the word anyone";

/**
 * Checks every address where this process listens, and loads who may call there.
 * @param root of the whole configuration
 */
export async function loadListeners(raw: RawConfig, root: LoadContext): Promise<ListenerConfig[]> {
  const context = root.in("listeners");
  if (!isLocal(raw.status.bind)) {
    const fix = "bind it to 127.0.0.1; kubectl port-forward reaches it there";
    root.in("status", "bind").report("the status port is for loopback only", fix);
  }
  checkBindings(raw, root);
  const known = new Map(Object.entries(raw.environments));
  const listeners: ListenerConfig[] = [];
  for (const [listener, at] of context.each(raw.listeners)) {
    const { bind, environment, hosts } = listener;
    at.in("environment").reportUnlessOneOf([...known.keys()], environment, "environment");
    if (!isLocal(bind) && listener.callers === undefined) at.in("bind").report(openToAll, nameCallers);
    const callers = await loadCallers(listener, known.get(environment), at);
    listeners.push({ bind, environment, hosts, callers });
  }
  checkRates(raw.listeners, context);
  return listeners;
}

function checkBindings({ listeners, callbacks, admin, status }: RawConfig, root: LoadContext): void {
  const all: Binding[] = [
    ...[...root.in("listeners").each(listeners)].map(([listener, at]) => ({ ...listener, at: at.in("bind") })),
    ...[...root.in("callbacks").each(callbacks)].map(([{ bind }, at]) => ({ bind, at: at.in("bind") })),
    { bind: admin.bind, at: root.in("admin", "bind") },
    { bind: status.bind, at: root.in("status", "bind") },
  ];
  for (const [index, binding] of all.entries()) {
    const earlier = all.slice(0, index).find((other) => doCollide(other, binding));
    if (earlier === undefined) continue;
    const message = `${formatPath(earlier.at.path)} listens there already: ${describeBind(earlier.bind)}`;
    binding.at.report(message, "give each its own port or path");
  }
}

/**
 * The same path or the same port; port 0 takes a free one each time. Only listeners of one environment may have a port
 * at several addresses, such as 127.0.0.1 and [::1]: which of them `localhost` finds must not decide what is reached.
 */
function doCollide({ bind: a, environment }: Binding, { bind: b, environment: other }: Binding): boolean {
  if (a.kind === "unix" || b.kind === "unix") return a.kind === b.kind && describeBind(a) === describeBind(b);
  if (a.port !== b.port || a.port === 0) return false;
  const areApart = isOneAddress(a.host) && isOneAddress(b.host) && a.host !== b.host;
  return !(areApart && environment !== undefined && environment === other);
}

function isOneAddress(host: string): boolean {
  return isIP(host) !== 0 && host !== "0.0.0.0" && host !== "::";
}
