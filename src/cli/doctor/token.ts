import { formatSpan } from "../../model/clock.ts";
import type { CredentialSet, Environment } from "../../model/environment.ts";
import { listNames } from "../../model/names.ts";
import { longestLeewayMs } from "../../oauth/token.ts";
import { requestToken, type TokenEndpoint } from "../../oauth/token-endpoint.ts";
import type { Grant } from "../../oauth/token-store.ts";
import { reportBackoff, reportNoToken } from "../no-token.ts";
import { printable } from "../terminal.ts";
import {
  type Check,
  type CheckResult,
  fail,
  type OpenRun,
  ok,
  type SharedSet,
  skip,
  timed,
  toCheck,
  warn,
  withinRun,
} from "./check.ts";

/** Longer than requests wait, so that the doctor can report how slow the authorization server is. */
const tokenTimeoutMs = 15_000;
/** A shared token with a smaller share of its lifetime left is due: `serve` would request a new one too. */
const overdueShare = 0.1;

/**
 * Whether each set of an environment gets tokens; the results for its assertion files come first.
 * @param isReachable whether the authorization server of this origin accepts connections
 */
export async function checkTokens(
  environment: Environment,
  sets: readonly SharedSet[],
  isReachable: (origin: string) => boolean,
  run: OpenRun,
): Promise<Check[]> {
  const about = { topic: "token", environment: environment.name };
  if (sets.length === 0) {
    const needless = skip("no site has credentials, so the authorization server is not asked");
    return [toCheck({ ...about, subject: environment.authUrl?.host ?? "tokens" }, needless)];
  }
  const checked = run.allTokens ? sets : sampleOf(sets);
  const tokens = checked.map((set) =>
    timed(run, { ...about, subject: set.set.label }, async () => {
      const canCome = set.token !== undefined || isReachable(set.tokenUrl.origin);
      const result = canCome ? await checkToken(set, run) : skip("the authorization server cannot be reached");
      return mentionBridge(result, environment, set.set);
    }),
  );
  const assertions = await Promise.all(sets.map((set) => checkAssertion(set, run)));
  const left = sets.length - checked.length;
  const rest = skip(`${left} of ${sets.length} credential sets are not checked; --all-tokens checks every one`);
  const others = left === 0 ? [] : [toCheck({ ...about, subject: "other credential sets" }, rest)];
  return [...assertions.flat(), ...(await Promise.all(tokens)), ...others];
}

/** So many sets of an environment are checked unless all are wanted: each may cost a token, and quotas limit tokens. */
export const tokenSample = 10;

/** Sets at equal distances, the first and the last among them. */
export function sampleOf<Set>(sets: readonly Set[]): readonly Set[] {
  if (sets.length <= tokenSample) return sets;
  const step = (sets.length - 1) / (tokenSample - 1);
  return Array.from({ length: tokenSample }, (_, n) => sets[Math.round(n * step)]).filter((set) => set !== undefined);
}

/** Adds to a missing token that the orders of sites with `bridge` are signed meanwhile. */
function mentionBridge(result: CheckResult, { sites }: Environment, set: CredentialSet): CheckResult {
  const bridged = [...sites.values()].filter(({ bridge, credentials }) => bridge && credentials?.sets.includes(set));
  if (bridged.length === 0 || result.verdict === "ok" || result.verdict === "warn") return result;
  const names = listNames(bridged.map(({ identifier }) => identifier));
  return { ...result, detail: `${result.detail}; meanwhile orders of ${names} are signed (bridge: hmac)` };
}

/** Whether a set gets tokens. Requests one only if no shared token proves that, because quotas limit token requests. */
async function checkToken(set: SharedSet, run: OpenRun): Promise<CheckResult> {
  const { token } = set;
  if (token === undefined || token.remainingMs <= longestLeewayMs(token.lifetimeMs)) return requestIfAllowed(set, run);
  const inCache = `in the shared cache, valid for another ${formatSpan(token.remainingMs)}`;
  const isDue = token.remainingMs <= token.lifetimeMs * overdueShare;
  const result = isDue ? await requestIfAllowed(set, run) : undefined;
  if (result === undefined || result.verdict === "skipped") return ok(`${inCache}; no other was requested`);
  // No failure: `serve` uses the shared token until its leeway begins.
  return result.verdict === "fail"
    ? { ...result, verdict: "warn", detail: `${inCache}, and due; ${result.detail}` }
    : result;
}

/** Requests a token, unless a back-off of the replicas or --no-token forbids it. */
async function requestIfAllowed(set: SharedSet, run: OpenRun): Promise<CheckResult> {
  const { clock, config, upstreams } = run;
  if (set.backoff !== undefined) return reportBackoff(set.backoff, set);
  if (!run.withToken) return skip("not requested (--no-token)");
  const sinceMs = clock.nowMs();
  const endpoint = upstreams.tokenEndpointOf(set);
  const request = requestToken(endpoint, set.set, { wallMs: () => clock.wallMs(), timeoutMs: tokenTimeoutMs });
  const answer = (await withinRun(run, request, tokenTimeoutMs)) ?? ({ kind: "timed_out" } as const);
  const tookMs = clock.nowMs() - sinceMs;
  if (answer.kind !== "issued") return reportNoToken(answer, set);
  const where = await share(set, answer.grant, tookMs, run);
  const detail = `issued, valid for ${formatSpan(answer.grant.lifetimeMs)}, ${where}`;
  const { tokenMs } = config.timeouts;
  if (tookMs <= tokenMs) return ok(detail);
  const late = `${detail}; that took longer than requests wait for it (timeouts.token, ${tokenMs} ms)`;
  return warn(late, "see why the authorization server is slow; raise timeouts.token if that is its way");
}

/** Saves the token as `serve` does, so that replicas use it. A value that our keys cannot decrypt stays, as evidence. */
async function share(
  { tokenKey, read }: SharedSet,
  grant: Grant,
  ageMs: number,
  { config, store }: OpenRun,
): Promise<string> {
  if (config.tokens.cache === "memory") return "not kept (tokens.cache is memory)";
  if (read === "unreadable") return "not kept, since another value is in its place";
  await store.save(tokenKey, { ...grant, issuedWithinMs: ageMs, isRepeated: false }, ageMs);
  const isThere = (await store.read(tokenKey)).token !== undefined;
  return isThere ? "and shared from now on" : "but Redis did not take it";
}

/** An assertion that is renewed in time never has less time left, even if its lifetime is short. */
const lastMs = 60_000;

/** Checks the assertion in a set's file; no check for sets without such a file. */
async function checkAssertion(shared: SharedSet, run: OpenRun): Promise<Check[]> {
  const { environment, set } = shared;
  const clientAuth = set.token?.clientAuth;
  if (clientAuth?.method !== "assertion") return [];
  const about = { topic: "token", environment, subject: `${set.label}, its assertion` };
  const read = await run.upstreams.tokenEndpointOf(shared).readAssertion(clientAuth.file);
  return [toCheck(about, evaluateAssertion(read, clientAuth.file, run.clock.wallMs()))];
}

type AssertionRead = Awaited<ReturnType<TokenEndpoint["readAssertion"]>>;

function evaluateAssertion(read: AssertionRead, file: string, nowMs: number): CheckResult {
  const renew = "see what renews it: the kubelet (a projected token), spiffe-helper or another agent";
  if ("kind" in read) return fail(read.cause ?? "it cannot be read", `mount the platform's token there; ${renew}`);
  const { expiresAtMs, audience } = read;
  const about = `${audience === undefined ? "" : `, its aud is ${printable(audience)}`} (file ${file})`;
  if (expiresAtMs === undefined) return ok(`has no time of expiry${about}`);
  const leftMs = expiresAtMs - nowMs;
  if (leftMs <= 0) return fail(`expired ${formatSpan(-leftMs)} ago${about}`, renew);
  const detail = `expires in ${formatSpan(leftMs)}${about}`;
  return leftMs < lastMs ? warn(detail, renew) : ok(detail);
}

export function checkEncryptionKeys({ config, sets }: OpenRun): Check[] {
  const about = { topic: "redis", subject: "encryptionKeys" };
  return config.tokens.cache === "memory" ? [] : [toCheck(about, evaluateEncryptionKeys(sets))];
}

/** Whether our keys decrypt what other replicas encrypted. */
function evaluateEncryptionKeys(sets: readonly SharedSet[]): CheckResult {
  const unreadable = sets.filter(({ read }) => read === "unreadable").length;
  const readable = sets.filter(({ token }) => token !== undefined).length;
  if (unreadable > 0) {
    const roll = "give every replica the same redis.encryptionKeys (docs/redis.md: roll the encryption key)";
    const detail = `${unreadable} of ${unreadable + readable} values in the cache cannot be decrypted`;
    return warn(detail, `${roll}; else each replaces the others' tokens`);
  }
  if (sets.some(({ read }) => read === "error")) return skip("the cache could not be read");
  if (readable === 0) return skip("the cache has no value to decrypt");
  return ok(`decrypt the values in the cache (${readable})`);
}
