import type { Address, CredentialSet, Environment, TokenSettings } from "./environment.ts";

/** Where the service's own authorization server has its token endpoint (spec 4.2). */
export const tokenPath = "/oauth/token";

/**
 * The settings that make a token another token, as names and values; none where they are the service's own. The audience
 * is not among them, nor is what only the way to a token depends on.
 */
export function identityOf(token: TokenSettings | undefined): string[] {
  if (token === undefined) return [];
  const { url, clientAuth, scope, resource, extra, certificate } = token;
  const { method } = clientAuth;
  const settings: [name: string, value: string | undefined][] = [
    ["url", url?.path.endsWith(tokenPath) ? undefined : url && `${url.origin}${url.path}`],
    ["clientAuth", method === "post" ? undefined : method],
    ["certificate", certificate],
    ["scope", scope],
    ["resource", resource],
    ...Object.entries(extra)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]): [string, string] => [`extra ${name}`, value]),
  ];
  return settings.flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
}

/** Where a set's token requests go (spec 4.2). The configuration is refused where that is nowhere. */
export function tokenUrlOf({ authUrl }: Environment, { token }: CredentialSet): Address {
  if (token?.url !== undefined) return token.url;
  if (authUrl === undefined) throw new Error("an environment with credentials says where tokens come from");
  return { ...authUrl, path: `${authUrl.path}${tokenPath}` };
}
