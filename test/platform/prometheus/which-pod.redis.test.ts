/** Of three real replicas one is cut off from the service and one from the authorization server: alerts and dashboards name them. */
import { expect, onTestFinished } from "vitest";
import { overview } from "../../../scripts/dashboards/overview.ts";
import { type Replica, site, startFleet } from "../../../testkit/fleet.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { withTools } from "../kubernetes/tools.ts";
import { choicesOf, fillVariables, queriedPanels } from "./grafana.ts";
import { type Series, startPrometheus } from "./running-prometheus.ts";

const patience = { timeout: 60_000, interval: 250 };

withTools("prometheus")("names the pods that are cut off", { timeout: 180_000 }, async () => {
  const { simulator, replicas } = await startFleet({ redis: await startRedis(), replicas: 3 });
  const targets = replicas.map(({ adminUrl }) => new URL(adminUrl).host);
  const [, withoutService = "", withoutTokens = ""] = targets;
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  await cutOff(replicas[1], simulator.apiUrl, nowhere);
  await cutOff(replicas[2], simulator.loginUrl, nowhere);
  // One has the label that the Prometheus Operator gives every pod.
  const labelled = { targets: [withoutService], labels: { pod: "checkout-1" } };
  const plain = { targets: targets.filter((target) => target !== withoutService) };
  const prometheus = await startPrometheus([{ job_name: "checkout", static_configs: [labelled, plain] }]);
  const sees = (expr: string) => expect.poll(() => prometheus.query(expr).then(({ length }) => length), patience);
  await sees("countersign_build_info").toBe(3);
  keepOrdering(replicas);

  const podsOf = async (name: string) => {
    const { alerts } = await prometheus.ask("alerts");
    // biome-ignore lint/suspicious/noExplicitAny: as Prometheus has it
    return alerts.find(({ labels }: any) => labels.alertname === name)?.annotations.pods?.replaceAll(/ \(\d+\)/g, "");
  };
  const failing = async () => (await podsOf("CountersignFailures"))?.split(", ").sort();
  await expect.poll(failing, patience).toEqual([withoutTokens, "checkout-1"]);
  await expect.poll(() => podsOf("CountersignNoValidToken"), patience).toBe(withoutTokens);

  const substitute = await fillVariables(overview, prometheus);
  const shows = (title: string) => {
    const panel = queriedPanels(overview).find(({ panel }) => panel.title === title);
    const { expr = "", legendFormat = "" } = panel?.queries[0] ?? {};
    const shown = async () => {
      const series = await prometheus.query(substitute(expr));
      return Object.fromEntries(series.map(({ metric, value }) => [named(legendFormat, metric), Number(value?.[1])]));
    };
    return expect.poll(shown, patience);
  };
  await shows("Failures by pod").toEqual({
    "checkout-1 sandbox countersign": 1,
    [`${withoutTokens} sandbox countersign`]: 1,
  });
  const [first = ""] = targets;
  expect(await choicesOf(overview, "instance", prometheus)).toEqual({
    "checkout-1": withoutService,
    [first]: first,
    [withoutTokens]: withoutTokens,
  });
  await shows("Pods").toEqual({ [`${site}/blue sandbox`]: 2 });
  await shows("Shortest token life").toEqual({ [site]: 0 });
});

/** A series' name, as Grafana makes it: the value of an absent label is empty. */
function named(legend: string, labels: Series["metric"]): string {
  return legend.replaceAll(/{{(\w+)}}/g, (_, label: string) => labels[label] ?? "");
}

/** The replica finds nobody at this address any more. */
async function cutOff(replica: Replica | undefined, url: string, nowhere: string): Promise<void> {
  replica?.change(url, nowhere);
  await replica?.event("config_applied");
}

/** Sends orders through each replica, one after another, until the test ends. */
function keepOrdering(replicas: readonly Replica[]): void {
  let goesOn = true;
  const loops = replicas.map(async ({ order }) => {
    while (goesOn) await order();
  });
  onTestFinished(async () => {
    goesOn = false;
    await Promise.allSettled(loops);
  });
}
