import type { ConfiguredSet } from "../../app/token-owners.ts";
import type { Environment } from "../../model/environment.ts";
import type { PostForm } from "../../oauth/token-endpoint.ts";
import { type Check, skip } from "./check.ts";
import { examineHost } from "./examine-host.ts";
import { examineToken } from "./examine-token.ts";
import { hostOf } from "./host.ts";
import { type Run, timed } from "./run.ts";
import type { Shared, TokenShelf } from "./token-shelf.ts";

/** A set and what was found on the shelf for it. */
export interface SharedSet extends ConfiguredSet {
  readonly shared: Shared;
}

/** Where tokens are kept, and who issues them. */
export interface TokenWay {
  readonly shelf: TokenShelf;
  /** For environments with credentials. */
  readonly postFormOf: (environment: Environment) => PostForm;
}

/** Both hosts at once; then a token for each set, from an authorization server that can be reached. */
export async function examineEnvironment(
  environment: Environment,
  sets: readonly SharedSet[],
  way: TokenWay,
  visit: Run,
): Promise<Check[]> {
  const { baseUrl, authUrl } = environment;
  const [service, login] = await Promise.all([
    examineHost(hostOf(environment, "baseUrl", baseUrl), visit),
    sets.length === 0 || authUrl === undefined
      ? undefined
      : examineHost(hostOf(environment, "authUrl", authUrl), visit),
  ]);
  const hostChecks = [...service.checks, ...(login?.checks ?? [])];
  const of = (topic: Check["topic"]) => hostChecks.filter((check) => check.topic === topic);
  const tokens =
    login === undefined
      ? [needless(environment)]
      : await Promise.all(sets.map((placed) => examineSet(placed, login.isReachable, way, visit)));
  return [...of("dns"), ...of("tls"), ...of("clock"), ...tokens];
}

function needless({ name, authUrl }: Environment): Check {
  const finding = skip("no site has credentials, so the authorization server is not asked");
  return { topic: "token", environment: name, subject: authUrl?.host ?? "tokens", ...finding, tookMs: 0 };
}

function examineSet(placed: SharedSet, isReachable: boolean, way: TokenWay, visit: Run): Promise<Check> {
  const { environment, set, shared } = placed;
  const about = { topic: "token" as const, environment: environment.name, subject: set.label };
  return timed(visit, about, async () => {
    if (!isReachable && shared.token === undefined) return skip("the authorization server cannot be reached");
    return examineToken(placed, { shelf: way.shelf, post: way.postFormOf(environment), shared }, visit);
  });
}
