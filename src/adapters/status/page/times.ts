import { type Html, html } from "./html.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `12 s`, `3 min`, `2 h 5 min`, `4 d 7 h`: what a reader takes in at a glance. */
export function describeDuration(ms: number): string {
  if (ms < minuteMs) return `${Math.floor(ms / secondMs)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < dayMs) return twoParts(ms, [hourMs, "h"], [minuteMs, "min"]);
  return twoParts(ms, [dayMs, "d"], [hourMs, "h"]);
}

type Unit = readonly [ms: number, name: string];

function twoParts(ms: number, [bigMs, big]: Unit, [smallMs, small]: Unit): string {
  const rest = Math.floor((ms % bigMs) / smallMs);
  const whole = `${Math.floor(ms / bigMs)} ${big}`;
  return rest === 0 ? whole : `${whole} ${rest} ${small}`;
}

/** `3 min`: from a moment until now. */
export function describeSpan(since: string, now: string): string {
  return describeAge(since, now).replace(" ago", "");
}

/** `3 min ago`, `in 10 s`, `just now`. */
export function describeAge(at: string, now: string): string {
  const ms = Date.parse(now) - Date.parse(at);
  if (Math.abs(ms) < secondMs) return "just now";
  return ms > 0 ? `${describeDuration(ms)} ago` : `in ${describeDuration(-ms)}`;
}

/** A moment as the log has it, to the second. */
export function showMoment(at: string): Html {
  return html`<time datetime="${at}">${at.replace(/\.\d+Z$/, "Z")}</time>`;
}

/** The same, and how long ago it is. */
export function showTime(at: string, now: string): Html {
  return html`<span class="when">${showMoment(at)} <span class="age">${describeAge(at, now)}</span></span>`;
}
