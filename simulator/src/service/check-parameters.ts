import { type Refusal, refuse } from "./refusals.ts";

type Parameters = ReadonlyMap<string, string>;

/** Which timestamps are plausible. */
export interface ParameterRules {
  readonly timestampToleranceSeconds: number;
  readonly nowMs: () => number;
}

/** The checks that hold for every call, however it is authenticated (spec 2.1, 2.2). */
export function checkParameters(parameters: Parameters, rules: ParameterRules): Refusal | undefined {
  return (
    checkNames(parameters) ??
    checkRequired(parameters) ??
    checkVersion(parameters) ??
    checkTimestamp(parameters, rules) ??
    checkDecimals(parameters) ??
    checkBooleans(parameters)
  );
}

/** Names are written without spaces (spec 5.2 rule 3). */
function checkNames(parameters: Parameters): Refusal | undefined {
  for (const name of parameters.keys()) {
    if (name === "") return refuse("name_not_allowed", "a name is empty");
    if (/\s/.test(name)) return refuse("name_not_allowed", `${JSON.stringify(name)} has a space`);
  }
  return undefined;
}

function checkRequired(parameters: Parameters): Refusal | undefined {
  for (const name of ["version", "site_identifier", "timestamp"]) {
    if (!parameters.get(name)) return refuse("missing_parameter", `${name} is missing or empty`);
  }
  return undefined;
}

function checkVersion(parameters: Parameters): Refusal | undefined {
  if (/^\d+\.\d+$/.test(parameters.get("version") ?? "")) return undefined;
  return refuse("version_malformed", "version is not like 3.0");
}

function checkTimestamp(parameters: Parameters, rules: ParameterRules): Refusal | undefined {
  const timestamp = parameters.get("timestamp") ?? "";
  if (!/^\d{1,15}$/.test(timestamp)) return refuse("timestamp_malformed", "timestamp is not Unix seconds in digits");
  const offBySeconds = Math.abs(Number(timestamp) - Math.floor(rules.nowMs() / 1000));
  if (offBySeconds <= rules.timestampToleranceSeconds) return undefined;
  return refuse("timestamp_implausible", `timestamp is off by ${offBySeconds} s`);
}

/** Two digits after the point for every amount (spec 5.2 rule 2). */
function checkDecimals(parameters: Parameters): Refusal | undefined {
  for (const [name, value] of parameters) {
    if (name.endsWith("_amount") && !/^-?\d+\.\d{2}$/.test(value)) {
      return refuse("decimal_malformed", `${name} does not have two digits after the point (rule 2)`);
    }
  }
  return undefined;
}

/** The only boolean that the specification shows (spec 2.2). */
function checkBooleans(parameters: Parameters): Refusal | undefined {
  const value = parameters.get("order_is_standing");
  if (value === undefined || value === "true" || value === "false") return undefined;
  return refuse("boolean_malformed", 'order_is_standing is neither "true" nor "false"');
}
