import { createListener, type ListenerSettings, type Serving } from "../../../src/adapters/http-server/listener.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { BufferBudget } from "../../../src/serving/buffer-budget.ts";
import { EventRecorder } from "../../../testkit/event-recorder.ts";
import { listen } from "../../../testkit/listen.ts";

export const settings: ListenerSettings = {
  connections: 10,
  bodyBytes: 1_024,
  clock: systemClock,
  buffers: new BufferBudget(1_048_576, systemClock),
  isDraining: () => false,
};

/** A listener without the proxy behind it: the test provides its `Serving`. It ends with the test. */
export async function openListener(first: Partial<Serving> & Pick<Serving, "handler">) {
  let serving: Serving = { settings, ...first };
  const recorder = new EventRecorder();
  const listener = createListener(() => serving, { name: "here", report: recorder.report });
  const port = await listen(listener.server);
  const change = (next: Partial<Serving>) => {
    serving = { ...serving, ...next };
    listener.renew();
  };
  return { listener, server: listener.server, recorder, change, port };
}
