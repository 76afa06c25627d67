import { connect } from "node:net";
import { canaries } from "../../../testkit/config-folder.ts";
import { sites } from "../../../testkit/faults-configuration.ts";
import { rawPost } from "../../../testkit/raw-caller.ts";
import { callbackOf, type Given } from "../../promises/callbacks/sender.ts";
import { accepts } from "../../promises/callbacks/stage.ts";
import { ask, type Reply, type Scene } from "./ask.ts";
import type { Lane } from "./lane.ts";

let counted = 0;

function callback(): Given {
  counted += 1;
  return callbackOf({ site_identifier: sites.hmac, number: String(counted) }, canaries.key);
}

function send(lane: Lane, parameters: Given): Promise<Reply> {
  const bytes = rawPost({ target: "/callbacks", body: JSON.stringify(parameters) });
  return ask(lane, bytes, connect(lane.callbackPort, "127.0.0.1"));
}

/** What the service and the application do. */
export const scenesOfCallbacks: readonly Scene[] = [
  {
    name: "a callback, and the same again",
    async play(lane) {
      lane.application.answerWith(accepts);
      const one = callback();
      return [await send(lane, one), await send(lane, one)];
    },
  },
  { name: "a forged callback", play: async (lane) => [await send(lane, { ...callback(), signature: "0".repeat(64) })] },
  {
    name: "callbacks that the application declines, breaks off and forgets",
    async play(lane) {
      const replies: Reply[] = [];
      lane.application.answerWith((response) => response.writeHead(500).end("x".repeat(70_000)));
      replies.push(await send(lane, callback()));
      lane.application.answerWith((response) => response.destroy());
      replies.push(await send(lane, callback()));
      lane.application.answerWith(() => {});
      replies.push(await send(lane, callback()));
      lane.application.answerWith(accepts);
      return replies;
    },
  },
];
