/** With `metrics: { sites: none }` no series names a site or a credential set, and the dashboards still have choices, and count tokens. */
import { expect } from "vitest";
import { dashboards } from "../../../scripts/dashboards/dashboards.ts";
import { overview } from "../../../scripts/dashboards/overview.ts";
import { startFleet } from "../../../testkit/fleet.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { withTools } from "../kubernetes/tools.ts";
import { fillVariables, queriedPanels } from "./grafana.ts";
import { startPrometheus } from "./running-prometheus.ts";

withTools("prometheus")("dashboards work where metrics name no sites", { timeout: 120_000 }, async () => {
  const redis = await startRedis();
  const { replicas, sum } = await startFleet({ redis, replicas: 1, more: "metrics: { sites: none }" });
  const [replica] = replicas;
  expect((await replica?.order())?.status).toBe(200);
  const issued = await sum("countersign_token_requests_total", { credential: "all", result: "issued" });
  expect(issued).toBeGreaterThan(0);
  const targets = [new URL(replica?.adminUrl ?? "").host];
  const prometheus = await startPrometheus([{ job_name: "checkout", static_configs: [{ targets }] }]);
  const count = () => prometheus.query("countersign_build_info").then(({ length }) => length);
  await expect.poll(count, { timeout: 30_000 }).toBe(1);

  for (const dashboard of Object.values(dashboards)) await fillVariables(dashboard, prometheus);
  const panel = queriedPanels(overview).find((each) => each.panel.title === "Tokens issued, 24 h");
  const expr = (await fillVariables(overview, prometheus))(panel?.queries[0]?.expr ?? "");
  expect((await prometheus.query(expr)).map(({ value }) => Number(value?.[1]))).toEqual([issued]);
});
