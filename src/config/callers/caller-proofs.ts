import type { Secret } from "../../model/secret.ts";
import { formatPath } from "../diagnostics.ts";
import { fingerprint } from "../hash.ts";
import type { LoadContext } from "../load-context.ts";
import type { RawListener } from "../schema.ts";
import { repeats } from "../uniqueness.ts";
import type { RawCaller } from "./caller-schema.ts";

/** What proves a caller to a listener. */
export interface Proof {
  readonly at: LoadContext;
  readonly listener: RawListener;
  readonly value: Secret | CertificateName;
  /** Undefined in a list of tokens, whose names are for the log alone. */
  readonly caller: string | undefined;
}

/** As in `certificateNames`. */
type CertificateName = string;

/** A proof is one caller's, and a token works in one environment (spec 7): a sandbox request must never become a real order. */
export function checkProofs(proofs: readonly Proof[]): void {
  for (const [proof, first] of repeats(proofs, ({ value }) => fingerprint({ value }))) {
    if (typeof proof.value === "string") checkCertificateName(proof, first);
    else checkToken(proof, proofs);
  }
}

/** Listeners of other environments may know the same workload. */
function checkCertificateName(proof: Proof, first: Proof): void {
  const { at, listener, caller } = proof;
  if (first.listener.environment !== listener.environment) return;
  if (first.caller === caller && first.listener !== listener) return;
  const of = first.caller === caller ? "there already" : `caller ${first.caller}'s`;
  at.report(`this name is ${of}: ${formatPath(first.at.path)}`, "give each caller a certificate of its own");
}

function checkToken(proof: Proof, all: readonly Proof[]): void {
  const { at, listener, caller, value } = proof;
  const isEqual = (other: Proof) =>
    typeof other.value !== "string" && typeof value !== "string" && other.value.equals(value);
  const earlier = all.slice(0, all.indexOf(proof)).filter(isEqual);
  const { environment } = listener;
  const foreign = earlier.find((other) => other.listener.environment !== environment)?.listener.environment;
  const twin = earlier.find((other) => other.listener === listener);
  const other = earlier.find((each) => each.caller !== caller);
  if (foreign !== undefined) {
    at.report(
      `the token also opens environment ${foreign}`,
      `give the callers of environment ${environment} their own`,
      "hidden",
    );
  } else if (other !== undefined) {
    const message = `this is also the token of ${formatPath(other.at.path)}`;
    at.report(message, "give each caller a token of its own: countersign keygen makes one", "hidden");
  } else if (twin !== undefined) {
    const message = `this is the same token as ${formatPath(twin.at.path)}`;
    if (caller !== undefined) at.report(message, "put another one there, or leave it out", "hidden");
    else at.warn("caller_token_twice", message, "put another one there, or leave it out");
  }
}

/** A name is one caller in all of an environment: its requests are counted together. */
export function checkRates(listeners: readonly RawListener[], context: LoadContext): void {
  const named = [...context.each(listeners)].flatMap(([{ environment, callers }, at]) =>
    Object.entries(namedCallers(callers)).map(([name, { requestsPerSecond }]) => {
      return { key: `${environment} ${name}`, name, requestsPerSecond, at: at.in("callers", name) };
    }),
  );
  for (const [caller, first] of repeats(named, ({ key }) => key)) {
    if (caller.requestsPerSecond === first.requestsPerSecond) continue;
    const message = `${caller.name} has another rate at ${formatPath(first.at.path)}, and is one caller`;
    caller.at.in("requestsPerSecond").report(message, "write the same at both, or give one of them another name");
  }
}

/** None where callers have another form. */
export function namedCallers(callers: RawListener["callers"]): Readonly<Record<string, RawCaller>> {
  if (callers === undefined || callers === "anyone" || isFormerForm(callers)) return {};
  return callers;
}

/** No caller can have the name of a key that the former forms have. */
export function isFormerForm<Callers extends object>(
  callers: Callers,
): callers is Extract<Callers, { readonly tokens: unknown } | { readonly mtls: unknown }> {
  return "tokens" in callers || "mtls" in callers;
}
