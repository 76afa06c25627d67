import { type Bind, describeBind } from "../bind.ts";
import type { Environment } from "../environment.ts";
import type { Findings } from "./findings.ts";
import type { Path } from "./problem.ts";
import type { RawConfig } from "./schema.ts";
import { isLocal } from "./values.ts";

/** The rules that concern more than one part of the file. */
export function checkWhole(
  raw: RawConfig,
  environments: readonly Environment[],
  env: Readonly<Record<string, string | undefined>>,
  findings: Findings,
): void {
  checkListeners(raw, findings);
  checkBinds(raw, findings);
  checkSeparation(environments, findings);
  if (env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    findings.refuse(
      [],
      "NODE_TLS_REJECT_UNAUTHORIZED=0 turns TLS verification off",
      "unset it; for a private CA use tls.caFile",
      "NODE_TLS_REJECT_UNAUTHORIZED=0",
    );
  }
}

function checkListeners({ listeners, environments, status }: RawConfig, findings: Findings): void {
  for (const [index, { bind, environment, callers }] of listeners.entries()) {
    const path: Path = ["listeners", index];
    if (!Object.hasOwn(environments, environment)) {
      findings.refuse(
        [...path, "environment"],
        "there is no such environment",
        `name one of: ${Object.keys(environments).join(", ")}`,
      );
    }
    if (!isLocal(bind) && callers === undefined) {
      findings.refuse(
        [...path, "bind"],
        "whoever reaches this listener can spend money: it is not on loopback or a Unix socket and has no callers",
        "bind it to 127.0.0.1, or say who may call: callers: { tokens: [ … ] }, { mtls: … } or anyone",
      );
    }
  }
  if (!isLocal(status.bind)) {
    findings.refuse(
      ["status", "bind"],
      "the status port is for this machine only",
      "bind it to 127.0.0.1; kubectl port-forward reaches it",
    );
  }
}

function checkBinds({ listeners, admin, status }: RawConfig, findings: Findings): void {
  const all: { path: Path; bind: Bind }[] = [
    ...listeners.map(({ bind }, index) => ({ path: ["listeners", index, "bind"], bind })),
    { path: ["admin", "bind"], bind: admin.bind },
    { path: ["status", "bind"], bind: status.bind },
  ];
  for (const [index, { path, bind }] of all.entries()) {
    const earlier = all.slice(0, index).find((other) => collide(other.bind, bind));
    if (earlier !== undefined) {
      findings.refuse(
        path,
        `this place is taken by ${describeBind(earlier.bind)} above`,
        "give each its own port or path",
      );
    }
  }
}

/** The same path, or the same port on one address; an address-less bind takes the port everywhere. */
function collide(a: Bind, b: Bind): boolean {
  if (a.kind === "unix" || b.kind === "unix") return a.kind === b.kind && describeBind(a) === describeBind(b);
  return a.port !== 0 && a.port === b.port && (a.host === b.host || a.host === "" || b.host === "");
}

/** Nothing of one environment may work in another: a sandbox request must never become a real order. */
function checkSeparation(environments: readonly Environment[], findings: Findings): void {
  const seen = new Map<string, string>();
  for (const environment of environments) {
    for (const { what, value, path } of marksOf(environment)) {
      const owner = seen.get(`${what} ${value}`);
      if (owner !== undefined && owner !== environment.name) {
        findings.refuse(
          path,
          `environments ${owner} and ${environment.name} share ${what}`,
          "each environment has its own hosts, clients and keys",
          "hidden",
        );
      }
      seen.set(`${what} ${value}`, owner ?? environment.name);
    }
  }
}

interface Mark {
  readonly what: string;
  readonly value: string;
  readonly path: Path;
}

function marksOf({ name, baseUrl, authUrl, sites }: Environment): Mark[] {
  const path: Path = ["environments", name];
  const marks: Mark[] = [
    { what: "an origin", value: baseUrl.origin, path: [...path, "baseUrl"] },
    { what: "an origin", value: authUrl.origin, path: [...path, "authUrl"] },
  ];
  for (const { identifier, parent, keys, credentials } of sites.values()) {
    const at: Path =
      parent === undefined ? [...path, "sites", identifier] : [...path, "sites", parent, "children", identifier];
    for (const key of keys) {
      marks.push({ what: "a key identifier", value: key.identifier, path: [...at, "keys"] });
      marks.push({ what: "a secret key", value: key.secret.key.export().toString("base64"), path: [...at, "keys"] });
    }
    if (credentials?.owner !== identifier) continue;
    for (const { clientId } of credentials.sets)
      marks.push({ what: "a client id", value: clientId, path: [...at, "credentials"] });
  }
  return marks;
}
