import { readFileSync } from "node:fs";

export interface Recipe {
  /** Its heading; a second one below the same heading is by key. */
  readonly title: string;
  /** Keys of an environment. */
  readonly yaml: string;
}

const page = readFileSync("docs/authorization-servers.md", "utf8");

/** The recipes of docs/authorization-servers.md, in their order. */
export const recipes: readonly Recipe[] = page
  .slice(page.indexOf("## Recipes"))
  .split(/^### /m)
  .slice(1)
  .flatMap((section) => {
    const title = section.slice(0, section.indexOf("\n"));
    return [...section.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = ""], index) => ({
      title: index === 0 ? title : `${title}, by key`,
      yaml,
    }));
  });

/** @throws Error where the page has none of this title */
export function recipeOf(title: string): Recipe {
  const recipe = recipes.find((each) => each.title === title);
  if (recipe === undefined) throw new Error(`docs/authorization-servers.md has no recipe ${title}`);
  return recipe;
}
