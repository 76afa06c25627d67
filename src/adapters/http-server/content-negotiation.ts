/** One of the values of an Accept header or its like: `text/plain;version=0.0.4;q=0.3`. */
export interface Preference {
  /** In lower case, without parameters. */
  readonly name: string;
  /** By name in lower case; without quotes. */
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 (not at all) to 1, RFC 9110 section 12.4.2; 1 where none is given, 0 where it is not a number. */
  readonly weight: number;
}

/** Reads a header of content negotiation (RFC 9110 section 12.5). What is malformed is not wanted. */
function readPreferences(header: string | undefined): readonly Preference[] {
  return (header ?? "").split(",").flatMap((each) => {
    const [name = "", ...rest] = each.split(";").map((part) => part.trim());
    if (name === "") return [];
    const parameters = new Map(rest.map(readParameter));
    return [{ name: name.toLowerCase(), parameters, weight: readWeight(parameters.get("q")) }];
  });
}

/** Whether a reader takes gzip, and would not rather have the plain text. */
export function prefersGzip(acceptEncoding: string | undefined): boolean {
  const preferences = readPreferences(acceptEncoding);
  const gzip = weightOf(preferences, "gzip", "x-gzip", "*");
  return gzip > 0 && gzip >= weightOf(preferences, "identity");
}

const openMetrics = "application/openmetrics-text";

/** Whether a scraper asks for OpenMetrics 1.0.0 by name, and not for the text format before it. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  const preferences = readPreferences(accept);
  const isOurs = ({ name, parameters }: Preference) =>
    name === openMetrics && (parameters.get("version") ?? "1.0.0") === "1.0.0";
  const asked = Math.max(0, ...preferences.filter(isOurs).map(({ weight }) => weight));
  return asked > 0 && asked >= weightOf(preferences, "text/plain", "text/*", "*/*");
}

/** Of the first of these names that is there; 0 where none is. */
function weightOf(preferences: readonly Preference[], ...names: readonly string[]): number {
  const found = names.map((wanted) => preferences.find(({ name }) => name === wanted));
  return found.find((preference) => preference !== undefined)?.weight ?? 0;
}

function readParameter(text: string): readonly [name: string, value: string] {
  const [name = "", value = ""] = text.split("=", 2);
  return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")];
}

function readWeight(text: string | undefined): number {
  if (text === undefined) return 1;
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
