/** Chart.yaml has what Artifact Hub shows, in the forms that its documentation gives; what it links to in this repository is there. */
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const chart = parse(readFileSync("helm/countersign/Chart.yaml", "utf8"));
const product = JSON.parse(readFileSync("package.json", "utf8"));

const url = z.url({ protocol: /^https$/ });
const yes = z.enum(["true", "false"]);
const link = z.strictObject({ name: z.string().min(1), url });
/** A list that is written as YAML in a string. */
const listOf = <T extends z.ZodType>(item: T) =>
  z
    .string()
    .transform((text) => parse(text))
    .pipe(z.array(item).min(1));
/** https://artifacthub.io/docs/topics/annotations/helm; `signKey` has to wait for a key. */
const annotations = z.strictObject({
  "artifacthub.io/alternativeName": z.string(),
  "artifacthub.io/category": z.literal("security"),
  "artifacthub.io/license": z.literal(product.license),
  "artifacthub.io/operator": yes,
  "artifacthub.io/prerelease": yes,
  "artifacthub.io/containsSecurityUpdates": yes,
  "artifacthub.io/images": listOf(
    z.strictObject({ name: z.string(), image: z.string(), platforms: z.array(z.string().regex(/^linux\/\w+$/)) }),
  ),
  "artifacthub.io/links": listOf(link),
  "artifacthub.io/screenshots": listOf(z.strictObject({ title: z.string(), url })),
  "artifacthub.io/recommendations": listOf(z.strictObject({ url })),
  "artifacthub.io/changes": listOf(
    z.strictObject({
      kind: z.enum(["added", "changed", "deprecated", "removed", "fixed", "security"]),
      description: z.string(),
      links: z.array(link).optional(),
    }),
  ),
});

it("says whose chart it is, and where it comes from", () => {
  const { home, sources, icon, maintainers } = chart;
  const all = z.strictObject({ home: url, sources: z.array(url).min(1), icon: url, maintainers: z.array(link).min(1) });
  expect(() => all.parse({ home, sources, icon, maintainers })).not.toThrow();
  expect(product.repository.url).toBe(`git+${home}.git`);
  expect(sources).toEqual([home]);
});

it("has annotations in Artifact Hub's forms, for this version", () => {
  const read = annotations.parse(chart.annotations);
  const alternative = read["artifacthub.io/alternativeName"];
  expect(alternative.includes(chart.name) || chart.name.includes(alternative)).toBe(true);
  for (const { image } of read["artifacthub.io/images"]) expect(image).toMatch(new RegExp(`:${chart.appVersion}$`));
});

it("links to files that this repository has", () => {
  const links = [...JSON.stringify(chart).matchAll(/(?:\/blob\/main\/|\/countersign\/main\/)([\w./-]+)/g)];
  expect(links.length).toBeGreaterThan(4);
  for (const [, file = ""] of links) expect([file, existsSync(file)]).toEqual([file, true]);
});

it("has an icon that is an image of its own, without scripts or anything from elsewhere", () => {
  const svg = readFileSync("docs/images/icon.svg", "utf8");
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 256 256"/);
  expect(svg).not.toMatch(/script|href|url\(|foreignObject/);
});
