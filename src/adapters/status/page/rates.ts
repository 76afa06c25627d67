import { statusClasses } from "../../../model/status-class.ts";
import type { AnswerCounts, EnvironmentStatus } from "../snapshot.ts";
import { facts } from "./facts.ts";
import { type Html, html } from "./html.ts";
import { quiet, showCount } from "./prose.ts";
import { describeDuration } from "./times.ts";

/** How much traffic an environment has, how long it takes, and how it is answered. */
export function rates({ recent, answers }: EnvironmentStatus): Html {
  const span = `Last ${describeDuration(recent.seconds * 1_000)}`;
  const lately =
    recent.requests === 0
      ? quiet("no request")
      : html`${showRate(recent.perSecond)} a second; median ${showBound(recent.medianMs)}, p95 ${showBound(recent.p95Ms)}. ${showAnswers(recent.answers)}`;
  return facts([
    [span, lately],
    ["In all", showAnswers(answers)],
  ]);
}

function showRate(perSecond: number): string {
  return perSecond >= 10 ? showCount(Math.round(perSecond)) : String(Number(perSecond.toPrecision(2)));
}

function showBound(ms: number | undefined): string {
  if (ms === undefined) return "above 30 s";
  return ms < 1_000 ? `up to ${ms} ms` : `up to ${ms / 1_000} s`;
}

function showAnswers(answers: AnswerCounts): Html {
  const parts = (["service", "countersign"] as const).flatMap((by) => {
    const counts = statusClasses.flatMap((name) => {
      const count = answers[by][name] ?? 0;
      return count === 0 ? [] : [`${showCount(count)} × ${name}`];
    });
    return counts.length === 0 ? [] : [`${by === "service" ? "Service" : "Countersign"}: ${counts.join(", ")}`];
  });
  return parts.length === 0 ? quiet("no answer yet") : html`${parts.join("; ")}.`;
}
