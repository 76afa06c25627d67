import type { Page } from "playwright-core";

/** A text and its contrast to its background, 1 to 21 (WCAG 2.2, section 1.4.3). */
export interface Contrast {
  readonly text: string;
  readonly ratio: number;
}

/** Runs in the page, which has no types here. */
const measure = `
(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (part) => (part <= 10.31475 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color[3] !== 0) return color;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { textContent, parentElement } = walker.currentNode;
    if (textContent.trim() === "" || parentElement.getClientRects().length === 0) continue;
    const one = luminance(parse(getComputedStyle(parentElement).color));
    const other = luminance(behind(parentElement));
    found.push({ text: textContent.trim(), ratio: (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) });
  }
  return found;
})()`;

/** The contrast of every visible text. */
export function contrasts(page: Page): Promise<Contrast[]> {
  return page.evaluate<Contrast[]>(measure);
}
