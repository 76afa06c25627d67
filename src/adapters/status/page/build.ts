import type { StatusSnapshot } from "../snapshot.ts";
import { facts } from "./facts.ts";
import { type Html, html } from "./html.ts";
import { showTime } from "./times.ts";

/** Which build this is, and where it runs. */
export function build({ at, version, runtime, host, startedAt }: StatusSnapshot): Html {
  return html`<section aria-labelledby="build"><h2 id="build">Build</h2>
${facts([
  ["Countersign", html`<code>${version}</code>`],
  ["Node.js", html`<code>${runtime}</code>`],
  ["Host", html`<code>${host}</code>`],
  ["Started", showTime(startedAt, at)],
])}</section>
`;
}
