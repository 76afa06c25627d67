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
