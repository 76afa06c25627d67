export const statusClasses = ["2xx", "3xx", "4xx", "5xx"] as const;
/** The class of an answer's status (RFC 9110 section 15); 1xx is never the last word. */
export type StatusClass = (typeof statusClasses)[number];

/** `5xx` of 502. What is below 200 or above 599 counts as the nearest. */
export function statusClass(status: number): StatusClass {
  return statusClasses[Math.min(Math.max(Math.floor(status / 100), 2), 5) - 2] ?? "5xx";
}
