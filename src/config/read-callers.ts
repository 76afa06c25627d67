import { basename } from "node:path";
import type { Callers } from "../model/callers.ts";
import type { Secret } from "../model/secret.ts";
import type { CallerTokenSource } from "./fields.ts";
import type { RawListener } from "./listener-schema.ts";
import type { Reading } from "./load-context.ts";
import { formatPath, type Path } from "./problem.ts";
import { readTlsFiles } from "./read-tls.ts";
import { isLocal } from "./values.ts";

/** RFC 6750 section 2.1: what can follow `Bearer`, and fits into a proxy's URL with little escaping. */
const bearerToken = /^[A-Za-z0-9._~+/-]+=*$/;

const longestName = 64;

/** A token that opens a listener. */
interface Opener {
  readonly name: string;
  readonly token: Secret;
  readonly path: Path;
  /** Where the listener leads. */
  readonly environment: string;
}

/** Reads who may call each of the listeners, in their order. */
export async function readCallers(
  listeners: readonly RawListener[],
  reading: Reading,
): Promise<readonly (Callers | undefined)[]> {
  const openers: Opener[] = [];
  const all: (Callers | undefined)[] = [];
  for (const [index, listener] of listeners.entries()) {
    all.push(await readEach(listener, ["listeners", index, "callers"], openers, reading));
  }
  checkOpeners(openers, reading);
  return all;
}

async function readEach(
  { bind, environment, callers }: RawListener,
  path: Path,
  openers: Opener[],
  reading: Reading,
): Promise<Callers | undefined> {
  if (callers === undefined) return undefined;
  if (callers === "anyone") return { kind: "anyone" };
  if ("mtls" in callers) {
    const { ca, cert, key } = await readTlsFiles(callers.mtls, [...path, "mtls"], reading);
    const isRead = ca !== undefined && cert !== undefined && key !== undefined;
    return isRead ? { kind: "mtls", tls: { ca, cert, key } } : undefined;
  }
  const own: Opener[] = [];
  for (const [index, source] of callers.tokens.entries()) {
    const at: Path = [...path, "tokens", index];
    const token = await reading.secrets.secret(source, at);
    if (token === undefined) continue;
    checkForm(token, at, reading);
    const name = source.name ?? ownNameOf(source);
    if (source.name === undefined && own.some((other) => other.name === name)) {
      const message = `the log calls the callers of two tokens ${name}`;
      reading.findings.warn("caller_name_twice", at, message, "give each token a name");
    }
    own.push({ name, token, path: at, environment });
  }
  if (!isLocal(bind)) {
    const fix = "use callers: { mtls: … }, or see to it that nobody listens between";
    const message = "tokens and orders go over the network in plain text";
    reading.findings.warn("callers_in_plain_text", [...path, "tokens"], message, fix);
  }
  openers.push(...own);
  return { kind: "tokens", tokens: own.map(({ name, token }) => ({ name, token })) };
}

/** The name of the file or the variable, in characters that a label may have. */
function ownNameOf(source: CallerTokenSource): string {
  const name = "file" in source ? basename(source.file) : source.env;
  return name.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, longestName);
}

function checkForm(token: Secret, path: Path, { findings, secrets }: Reading): void {
  if (bearerToken.test(token.reveal())) return;
  const message = "the token cannot be sent as one: it may have A-Z a-z 0-9 - . _ ~ + / and = at its end (RFC 6750)";
  findings.refuse(path, message, "make one with: countersign keygen", secrets.origins.get(token));
}

/** What opens one environment must not open another (spec 7): a sandbox request must never become a real order. */
function checkOpeners(openers: readonly Opener[], { findings }: Reading): void {
  for (const [index, { token, path, environment }] of openers.entries()) {
    const equal = openers.slice(0, index).filter((other) => other.token.equals(token));
    const foreign = equal.find((other) => other.environment !== environment);
    const twin = equal.find((other) => isOfOneList(other.path, path));
    if (foreign !== undefined) {
      const from = [path, foreign.path].flatMap((each) => [each, [...each.slice(0, 2), "environment"]]);
      const fix = `give the callers of environment ${environment} their own`;
      findings.conclude(from, path, `the token also opens environment ${foreign.environment}`, fix, "hidden");
    } else if (twin !== undefined) {
      const message = `this is the same token as ${formatPath(twin.path)}`;
      findings.warn("caller_token_twice", path, message, "put another one there, or leave it out");
    }
  }
}

function isOfOneList(a: Path, b: Path): boolean {
  return a[1] === b[1];
}
