import { describeDuration } from "../../../model/clock.ts";
import { countFates, fates, type RecentStep } from "../recent-requests.ts";
import type { EnvironmentStatus } from "../stats.ts";
import { sumOf } from "../sums.ts";
import { type Html, html, nothing, showCount } from "./html.ts";
import type { Recent } from "./judge.ts";

const height = 40;
const stepWidth = 10;

/** The last minutes of all environments together, a bar for each step: succeeded below, unknown on top. */
export function chart(what: Recent["what"], all: readonly Pick<EnvironmentStatus, "recent">[]): Html {
  const [first] = all;
  if (first === undefined) return nothing;
  const steps = first.recent.steps.map((_, index) => addSteps(all.map(({ recent }) => recent.steps[index])));
  const highest = Math.max(1, ...steps.map((step) => sumOf(fates, (fate) => step[fate])));
  const bars = steps.flatMap((step, index) => drawStep(step, index * stepWidth, height / highest));
  const whole = addSteps(steps);
  const shown = fates.filter((fate) => fate !== "mistaken" || whole[fate] > 0);
  const nameOf = (fate: string) => (fate === "mistaken" ? "callers’ mistakes" : fate);
  const words = shown.map((fate) => `${showCount(whole[fate])} ${nameOf(fate)}`).join(", ");
  const span = describeDuration(first.recent.seconds * 1_000);
  const whose = `${what}s${all.length > 1 ? " of all environments" : ""}`;
  const legend = shown.map((fate) => html`<span><b class="${fate}"></b>${nameOf(fate)}</span> `);
  return html`<figure class="chart"><svg role="img" aria-label="Last ${span}, ${whose}: ${words}" viewBox="0 0 ${steps.length * stepWidth} ${height}" preserveAspectRatio="none">${bars}</svg>
<figcaption><span>${span} ago</span><span>${whose}</span><span>now</span><span class="legend">${legend}</span></figcaption></figure>
`;
}

function addSteps(all: readonly (RecentStep | undefined)[]): RecentStep {
  return countFates((fate) => sumOf(all, (step) => step?.[fate] ?? 0));
}

function drawStep(step: RecentStep, x: number, scale: number): Html[] {
  let top = height;
  return fates.map((fate) => {
    const tall = step[fate] * scale;
    if (tall === 0) return nothing;
    top -= tall;
    return html`<rect class="${fate}" x="${x}" y="${top.toFixed(2)}" width="${stepWidth - 2}" height="${tall.toFixed(2)}"/>`;
  });
}
