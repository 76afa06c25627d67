import { readFileSync } from "node:fs";

export interface Recipe {
  /** The heading; the second recipe below a heading is by key, the third by a token of the platform. */
  readonly title: string;
  /** Keys of an environment. */
  readonly yaml: string;
}

const page = readFileSync("docs/authorization-servers.md", "utf8");

const further = ["", ", by key", ", by a token of the platform"];

/** The recipes of docs/authorization-servers.md, in page order. */
export const recipes: readonly Recipe[] = page
  .slice(page.indexOf("## Recipes"))
  .split(/^### /m)
  .slice(1)
  .flatMap((section) => {
    const title = section.slice(0, section.indexOf("\n"));
    return [...section.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = ""], index) => ({
      title: `${title}${further[index] ?? ""}`,
      yaml,
    }));
  });

/** @throws Error if the page has no recipe of this title */
export function recipeOf(title: string): Recipe {
  const recipe = recipes.find((each) => each.title === title);
  if (recipe === undefined) throw new Error(`docs/authorization-servers.md has no recipe ${title}`);
  return recipe;
}
