/**
 * Every warning that a configuration can get: its stable code, by which `acknowledge` silences it, and what it is about.
 */
export const warnings = {
  hmac_for_existing_clients: "a site signs with HMAC, which new clients must not from 2026-08-01 on (spec 5.1)",
  secret_short: "a secret has fewer than 16 bytes",
  secret_blank_at_edge: "a secret begins or ends with a blank, a line break or a byte order mark",
  secret_readable_by_all: "everyone on the machine may read a secret's file",
  mounted_by_subpath: "a file is mounted by subPath, so a changed Secret or ConfigMap never reaches it",
  client_twice: "both credential sets of a site are of one client",
  callers_in_plain_text: "callers' tokens and orders go over the network in plain text",
  caller_token_twice: "a listener has the same caller's token twice",
  caller_name_twice: "two of a listener's tokens have the same name in the log",
  base_url_ends_in_operation: "a baseUrl ends with an operation, which is called below it",
  connect_longer_than_request: "timeouts.connect is longer than timeouts.request, so it is never reached",
  redis_unused: "there is a section redis, and tokens.cache is memory",
  redis_password_in_plain_text: "the password of Redis goes over the network in plain text",
} as const;

export type WarningCode = keyof typeof warnings;

export const warningCodes = Object.keys(warnings) as readonly WarningCode[] as readonly [WarningCode, ...WarningCode[]];
