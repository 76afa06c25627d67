import { isIP } from "node:net";
import { type Bind, describeBind } from "../model/bind.ts";
import type { RawListener } from "./listener-schema.ts";
import type { Reading } from "./load-context.ts";
import { formatPath, type Path } from "./problem.ts";
import type { RawConfig } from "./schema.ts";
import { isLocal } from "./values.ts";

/** The rules for every place where this process listens. */
export function checkListeners(raw: RawConfig, reading: Reading): void {
  for (const [index, listener] of raw.listeners.entries()) {
    checkListener(listener, ["listeners", index], Object.keys(raw.environments), reading);
  }
  if (!isLocal(raw.status.bind)) {
    const fix = "bind it to 127.0.0.1; kubectl port-forward reaches it there";
    reading.findings.refuse(["status", "bind"], "the status port is for loopback only", fix);
  }
  checkBinds(raw, reading);
}

function checkListener(
  { bind, environment, callers }: RawListener,
  path: Path,
  environments: readonly string[],
  { findings }: Reading,
): void {
  if (!environments.includes(environment)) {
    const at: Path = [...path, "environment"];
    const fix = `name one of: ${environments.join(", ")}`;
    findings.conclude([at, ["environments", environment]], at, "there is no such environment", fix);
  }
  if (!isLocal(bind) && callers === undefined) {
    findings.conclude(
      [[...path, "callers"]],
      [...path, "bind"],
      "whoever reaches this listener can spend money: it is not on loopback or a Unix socket and has no callers",
      "bind it to 127.0.0.1, or say who may call: callers: { tokens: [ … ] }, { mtls: … } or anyone",
    );
  }
}

interface Place {
  readonly path: Path;
  readonly bind: Bind;
  /** What a listener leads to; the admin and status ports lead nowhere. */
  readonly environment?: string;
}

function checkBinds({ listeners, admin, status }: RawConfig, { findings }: Reading): void {
  const all: Place[] = [
    ...listeners.map(({ bind, environment }, index) => ({ path: ["listeners", index], bind, environment })),
    { path: ["admin"], bind: admin.bind },
    { path: ["status"], bind: status.bind },
  ];
  for (const [index, place] of all.entries()) {
    const earlier = all.slice(0, index).find((other) => doCollide(other, place));
    if (earlier === undefined) continue;
    const message = `${formatPath([...earlier.path, "bind"])} listens there already: ${describeBind(earlier.bind)}`;
    const from = [place, earlier].map(({ path }) => [...path, "environment"]);
    findings.conclude(from, [...place.path, "bind"], message, "give each its own port or path");
  }
}

/**
 * The same path or the same port; port 0 takes a free one each time. Only listeners of one environment may have a port
 * at several addresses, such as 127.0.0.1 and [::1]: which of them `localhost` finds must not decide what is reached.
 */
function doCollide({ bind: a, environment }: Place, { bind: b, environment: other }: Place): boolean {
  if (a.kind === "unix" || b.kind === "unix") return a.kind === b.kind && describeBind(a) === describeBind(b);
  if (a.port !== b.port || a.port === 0) return false;
  const areApart = isOneAddress(a.host) && isOneAddress(b.host) && a.host !== b.host;
  return !(areApart && environment !== undefined && environment === other);
}

function isOneAddress(host: string): boolean {
  return isIP(host) !== 0 && host !== "0.0.0.0" && host !== "::";
}
