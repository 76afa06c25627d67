import { isIP } from "node:net";
import { type Bind, describeBind } from "../model/listener.ts";
import { checkProofs, checkRates, type Proof } from "./callers/caller-proofs.ts";
import { loadCallers } from "./callers/callers.ts";
import type { ListenerConfig } from "./config.ts";
import { formatPath } from "./diagnostics.ts";
import type { LoadContext } from "./load-context.ts";
import type { RawConfig, RawListener } from "./schema.ts";
import { isLocal, type Read, readBind } from "./values.ts";
import { readDocument } from "./yaml.ts";

/** An address where this process listens. */
interface Binding {
  readonly at: LoadContext;
  readonly bind: Bind;
  /** Of a listener for applications; the other ports lead to no environment. */
  readonly environment?: string;
}

/**
 * Checks every address where this process listens, and loads who may call there.
 * @param root of the whole configuration
 */
export async function loadListeners(raw: RawConfig, root: LoadContext): Promise<ListenerConfig[]> {
  const context = root.in("listeners");
  const environments = Object.keys(raw.environments);
  for (const [listener, at] of context.each(raw.listeners)) checkListener(listener, environments, at);
  if (!isLocal(raw.status.bind)) {
    const fix = "bind it to 127.0.0.1; kubectl port-forward reaches it there";
    root.in("status", "bind").report("the status port is for loopback only", fix);
  }
  checkBindings(raw, root);
  const known = new Map(Object.entries(raw.environments));
  const proofs: Proof[] = [];
  const listeners: ListenerConfig[] = [];
  for (const [listener, at] of context.each(raw.listeners)) {
    const { bind, environment, hosts } = listener;
    const callers = await loadCallers(listener, known.get(environment), proofs, at);
    listeners.push({ bind, environment, hosts, callers });
  }
  checkProofs(proofs);
  checkRates(raw.listeners, context);
  return listeners;
}

function checkListener(
  { bind, environment, callers }: RawListener,
  environments: readonly string[],
  context: LoadContext,
): void {
  if (environments.length > 0 && !environments.includes(environment)) {
    context.in("environment").report("there is no such environment", `name one of: ${environments.join(", ")}`);
  }
  if (isLocal(bind) || callers !== undefined) return;
  context
    .in("bind")
    .report(
      "every client that reaches this listener can spend money: it is not on loopback or a Unix socket and has no callers",
      "bind it to 127.0.0.1, or say who may call: callers: { NAME: { token: { file: /path } } }, or the word anyone",
    );
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

/** The admin port of a configuration. The rest of the text is not checked. */
export function readAdmin(text: string): Read<Bind> {
  const { value, yamlProblems } = readDocument(text);
  if (yamlProblems.length > 0) return { fix: "correct the YAML" };
  const bind = valueAt(valueAt(value, "admin"), "bind");
  return typeof bind === "string" ? readBind(bind) : { fix: 'write admin: { bind: ":7412" }' };
}

function valueAt(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
