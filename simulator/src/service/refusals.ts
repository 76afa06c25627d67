/**
 * Every reason why the simulated JSON API does not accept a call, with the HTTP status of the answer. The
 * specification shows no codes and bodies (spec 7): only the 401 is its own, the rest is the simulator's choice.
 */
export const refusals = {
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  media_type_not_supported: 415,

  query_string: 422,
  body_not_json: 422,
  duplicate_parameter: 422,
  value_not_a_string: 422,
  name_not_allowed: 422,
  missing_parameter: 422,
  version_malformed: 422,
  timestamp_malformed: 422,
  timestamp_implausible: 422,
  site_unknown: 422,
  decimal_malformed: 422,
  boolean_malformed: 422,

  character_not_allowed: 422,
  key_missing: 422,
  key_version_mismatch: 422,
  signature_malformed: 422,
  signature_mismatch: 422,
  signature_with_oauth: 422,
  oauth_not_for_version: 422,

  token_malformed: 401,
  token_unknown: 401,
  token_revoked: 401,
  token_expired: 401,
  token_of_other_environment: 401,
  token_of_other_audience: 401,
  token_not_for_site: 401,
} as const satisfies Record<string, number>;

/** A code of the refusal table. */
export type RefusalCode = keyof typeof refusals;

/** Why a call is not accepted. The detail names parameters and positions, never a parameter's value. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly status: number;
  readonly detail: string;
}

export function refuse(code: RefusalCode, detail: string): Refusal {
  return { code, status: refusals[code], detail };
}
