import { rawPost } from "../../../../testkit/raw-caller.ts";
import { type Case, framed, hidden, last, readsAnswer } from "../case.ts";

const upgrading = rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: h2c"] });
/** A sound order whose body happens to be the bytes of another request: its head here, its body in the next write. */
const carrier = framed([`Content-Length: ${hidden.length}`], "");
const broken = rawPost({ connection: [], body: '{"order_amount":"1.005"}' });

/**
 * What follows a request that asks for an upgrade, in the same write: it could be another protocol. So the connection ends with that
 * request's answer, and nothing behind it is served: neither an order nor what a body looks like.
 */
export const upgradedLines: readonly Case[] = [
  ["a body behind Upgrade that looks like a request", [`${upgrading}${carrier}`, readsAnswer, hidden], [200]],
  ["an order behind Upgrade", `${upgrading}${last}`, [200]],
  ["two orders behind Upgrade, one of them later", [`${upgrading}${broken}`, readsAnswer, last], [200]],
  [
    "an order behind a refused Upgrade",
    `${rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: websocket"], body: "{" })}${last}`,
    [400],
  ],
];
