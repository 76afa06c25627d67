import type { RedisStatus, StatusSnapshot } from "../snapshot.ts";
import { type Html, html } from "./html.ts";
import { quiet } from "./prose.ts";
import { table } from "./table.ts";
import { showTime } from "./times.ts";

const columns = [{ title: "Server" }, { title: "State" }, { title: "Since" }];

/** Where tokens are shared, and whether it is there. */
export function redis({ redis: nodes, at }: StatusSnapshot): Html {
  const rows = nodes.map(({ node, since, ...state }) => [
    html`<code>${node}</code>`,
    html`<span class="badge ${state.isUp === false ? "trouble" : "active"}">${describeState(state)}</span>`,
    since === undefined ? quiet("–") : showTime(since, at),
  ]);
  return html`<section aria-labelledby="redis"><h2 id="redis">Redis</h2>
${rows.length === 0 ? html`<p class="soft">Not used: tokens are kept in this process.</p>` : table("Redis servers", columns, rows)}</section>
`;
}

function describeState({ isUp, failure }: Pick<RedisStatus, "isUp" | "failure">): string {
  if (isUp === undefined) return "not heard of yet";
  return isUp ? "up" : `away: ${failure ?? "other"}`;
}
