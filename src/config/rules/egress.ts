import type { Address, Egress, Tls } from "../../model/environment.ts";
import type { Secret } from "../../model/secret.ts";
import {
  credentialsForm,
  isDirect,
  type NoProxyRule,
  noProxyForm,
  type RawEgress,
  readProxyVariable,
} from "../form/egress.ts";
import type { SecretSource } from "../form/fields.ts";
import type { LoadContext } from "./load-context.ts";
import { loadTls } from "./tls.ts";

const noTls: Tls = { ca: undefined, cert: undefined, key: undefined };

/** A forward proxy, with its rules not yet applied to the hosts of the environment. */
type ForwardProxy = Omit<Egress, "noProxy" | "direct"> & { readonly rules: readonly NoProxyRule[] };

/**
 * Loads the forward proxy of an environment.
 * @param hosts all hosts of the environment's requests and token requests
 * @param context of the environment's `egress`
 */
export async function loadEgress(
  raw: RawEgress | undefined,
  hosts: () => readonly Address[],
  context: LoadContext,
): Promise<Egress | undefined> {
  if (raw === undefined) return undefined;
  const loaded = raw === "environment" ? readVariables(context) : await loadProxy(raw, context);
  if (loaded === undefined) return undefined;
  const { rules, ...rest } = loaded;
  const direct = hosts()
    .filter((host) => isDirect(host, rules))
    .map(({ origin }) => origin);
  return { ...rest, noProxy: rules.map(({ text }) => text), direct: new Set(direct) };
}

async function loadProxy(
  { proxy, auth, noProxy, tls: files }: Exclude<RawEgress, "environment">,
  context: LoadContext,
): Promise<ForwardProxy | undefined> {
  const tls = await loadTls(files, context.in("tls"));
  if (proxy.scheme === "http" && Object.keys(files).length > 0) {
    context.in("tls").report("http:// has no TLS", "write https:// in proxy, or remove tls");
  }
  const credentials = auth === undefined ? undefined : await loadCredentials(auth, context.in("auth"));
  return { proxy, tls, credentials, rules: noProxy };
}

async function loadCredentials(source: SecretSource, context: LoadContext): Promise<Secret | undefined> {
  const content = await context.readSecret(source);
  if (content === undefined) return undefined;
  const { bytes, origin } = content;
  if (credentialsForm.test(bytes.toString("utf8"))) return context.makeSecret(content);
  return context.report("this is not user:password", `put one line with user:password into ${origin}`, origin);
}

/** The value of HTTPS_PROXY is never shown: it may hold a password. */
function readVariables(context: LoadContext): ForwardProxy | undefined {
  const given = variableOf("HTTPS_PROXY", context);
  if (given === undefined) {
    return context.report("HTTPS_PROXY is not set, and egress takes its proxy from there", "set it, or remove egress");
  }
  const read = readProxyVariable(given.value);
  if (read === undefined) {
    const fix = `set ${given.name} to http://host:port, or http://user:password@host:port with both percent-encoded`;
    return context.report(`${given.name} is not the address of an HTTP proxy`, fix, `env ${given.name}`);
  }
  const { proxy } = read;
  const rules = readNoProxy(context);
  const origin = `env ${given.name}`;
  const bytes = read.credentials === undefined ? undefined : Buffer.from(read.credentials, "utf8");
  return { proxy, tls: noTls, credentials: bytes && context.makeSecret({ bytes, origin }), rules };
}

function readNoProxy(context: LoadContext): NoProxyRule[] {
  const given = variableOf("NO_PROXY", context);
  const entries = given?.value.split(/[\s,]+/).filter((text) => text !== "") ?? [];
  return entries.flatMap((text) => {
    const rule = noProxyForm.read(text);
    if ("value" in rule) return rule.value;
    context.report(`${given?.name} has an entry that cannot be read`, rule.fix, JSON.stringify(text.slice(0, 64)));
    return [];
  });
}

/** The name in upper case comes first, as in Go. An empty variable counts as not set. */
function variableOf(
  upper: string,
  { state }: LoadContext,
): { readonly name: string; readonly value: string } | undefined {
  const { env } = state.dependencies;
  return [upper, upper.toLowerCase()]
    .map((name) => ({ name, value: env[name] ?? "" }))
    .find(({ value }) => value.trim() !== "");
}
