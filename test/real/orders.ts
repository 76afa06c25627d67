import { expect, onTestFinished } from "vitest";
import { type ConfigWriter, sandboxConfig, type WrittenEnvironment } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { Load } from "../../testkit/load.ts";
import { startServe } from "../../testkit/run-program.ts";
import { labelOf, sendOrder, type Told } from "../../testkit/send-order.ts";

/** A secret that is changed by every encoding of a form. */
export const secret = "canary 100% of+a/secret:&";

export const site = "S1000000001";

/** The built command, serving by this environment; ends with the test. */
export async function serve(environment: WrittenEnvironment, folder: ConfigWriter, more = {}) {
  const port = await freePort();
  const config = sandboxConfig([`127.0.0.1:${port}`], environment, more);
  const file = folder.config(`countersign-${port}.yaml`, config);
  return { ...(await startServe(file)), file, url: `http://127.0.0.1:${port}` };
}

/** A steady stream of orders to these replicas, and the results that their callers got. */
export function startOrders(urls: readonly string[], perSecond: number) {
  const told = new Map<string, Told>();
  const load = new Load({
    mostAtOnce: perSecond,
    async order({ pool }, turn) {
      const reference = `order-${turn}`;
      told.set(reference, (await sendOrder(pool, { reference, site })).told);
    },
  });
  for (const url of urls) load.add(url, url);
  onTestFinished(() => load.close());
  load.start(perSecond);
  const references = (wanted: string | undefined) =>
    [...told].filter(([, each]) => labelOf(each) === wanted).map(([reference]) => reference);
  return {
    stop: () => load.stop(),
    /** How many orders so far had this result; undefined means created. */
    count: (label?: string) => references(label).length,
    /** Checks that the service executed each order once that was told as created, and no other. */
    expectOnlyTold(executed: readonly string[]) {
      expect(executed.toSorted()).toEqual(references(undefined).toSorted());
    },
    /** Checks also that each other order had this result. */
    expectEachAsTold(executed: readonly string[], label?: string) {
      this.expectOnlyTold(executed);
      const labels = new Set([...told.values()].map(labelOf));
      expect(labels).toEqual(new Set([undefined, label]));
    },
    /** Orders that were sent a second time after a 401. */
    get retried() {
      return [...told.values()].filter((each) => each.kind === "answered" && each.attempts === 2).length;
    },
  };
}
