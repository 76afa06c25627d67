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

/** The sections of docs/troubleshooting.md that are on statuses. */
const sections = [
  "orders-get-200-and-none-exists",
  "orders-get-400",
  "every-order-gets-401",
  "every-order-gets-403",
  "every-order-gets-404",
  "orders-get-405-407-408-413-415-417-or-431",
  "orders-get-409",
  "orders-get-422",
  "orders-get-429",
  "orders-get-500",
  "orders-get-502-or-504",
  "orders-get-503",
];

/** Where the documents say more about requests that get a status; undefined without a section of its own. */
export function sectionOn(status: string): string | undefined {
  const isOn = (section: string) => /^\d{3}$/.test(status) && section.includes(status);
  const section = status.startsWith("3") ? "orders-get-a-redirect" : sections.find(isOn);
  return section && `troubleshooting.md#${section}`;
}
