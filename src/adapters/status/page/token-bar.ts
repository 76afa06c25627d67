import { type Html, html } from "./html.ts";
import { describeDuration } from "./times.ts";

/** From this share of its life on, a token is refreshed while it is used (spec 5.4). */
const dueShare = 0.8;

export interface TokenLife {
  readonly lifetimeMs: number;
  readonly remainingMs: number;
}

/**
 * A token's life from issue to expiry, and how much of it has passed. Drawn with attributes of SVG: a style attribute
 * would need a Content-Security-Policy that allows every style.
 */
export function tokenBar(credential: string, { lifetimeMs, remainingMs }: TokenLife): Html {
  const passed = Math.min(Math.max(1 - remainingMs / lifetimeMs, 0), 1);
  const percent = (passed * 100).toFixed(2);
  const left = describeLeft({ lifetimeMs, remainingMs });
  return html`<svg class="bar ${zoneOf(passed)}" role="meter" aria-label="Life of the token of ${credential}" aria-valuemin="0" aria-valuemax="100" aria-valuenow="${Math.round(passed * 100)}" aria-valuetext="${left}" viewBox="0 0 100 1" preserveAspectRatio="none"><rect class="whole" width="100" height="1"/><rect class="end" x="${dueShare * 100}" width="${100 - dueShare * 100}" height="1"/><rect class="passed" width="${percent}" height="1"/></svg>`;
}

export function describeLeft({ lifetimeMs, remainingMs }: TokenLife): string {
  const whole = describeDuration(lifetimeMs);
  if (remainingMs <= 0) return `expired after ${whole}`;
  return `${describeDuration(remainingMs)} left of ${whole}`;
}

function zoneOf(passed: number): "young" | "due" | "dead" {
  if (passed >= 1) return "dead";
  return passed >= dueShare ? "due" : "young";
}
