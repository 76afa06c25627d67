import { homepage } from "../version.ts";

/** Used until a release names its own. */
const unreleased = "https://github.com/countersign/countersign/blob/main/README.md";

/**
 * The address of a page of docs/, which neither the npm package nor the image has: on the configured site, else in the release.
 * @param page such as `redis.md`, also with an anchor
 * @param docsUrl the address of the documentation's site, if the configuration has one
 * @param readme the address of the release's README.md
 */
export function addressOfPage(page: string, docsUrl: string | undefined, readme = homepage ?? unreleased): string {
  if (docsUrl === undefined) return new URL(`docs/${page}`, readme).href;
  return `${docsUrl}/docs/${page.replace(/\.md(?=#|$)/, ".html")}`;
}

/** The text with the address in place of each path such as `docs/redis.md`. */
export function withAddresses(text: string, docsUrl: string | undefined): string {
  return text.replace(/\bdocs\/([\w/-]+\.md)/g, (_, page: string) => addressOfPage(page, docsUrl));
}

/** The sections of docs/troubleshooting.md on requests that get a status, by what follows `orders-get-`. */
const sections = "200-and-none-exists 400 405-407-408-413-415-417-or-431 409 422 429 500 502-or-504 503".split(" ");

/** Where the documents say more about requests that get a status; undefined without a section of its own. */
export function sectionOn(status: string): string | undefined {
  if (status.startsWith("3")) return "troubleshooting.md#orders-get-a-redirect";
  if (/^40[134]$/.test(status)) return `troubleshooting.md#every-order-gets-${status}`;
  const section = sections.find((statuses) => statuses.includes(status));
  return section && `troubleshooting.md#orders-get-${section}`;
}
