import type { Fault } from "../service/fault.ts";
import type { DemoRequest } from "./call.ts";
import type { Facts } from "./judge.ts";

/** One scene: the request, the fault that the service plays, and the facts that must be true afterwards. */
export interface Scene {
  readonly title: string;
  /** How long to wait before the scene. */
  readonly restMs?: number;
  /** The fault that the service plays. */
  readonly fault?: Fault;
  readonly request: DemoRequest;
  readonly expected: Facts;
}

const order = { order_amount: 10, order_currency: "EUR", site_customer_identifier: "customer_1" } as const;
const anOrder: DemoRequest = {
  method: "POST",
  path: "/create_order",
  headers: { "content-type": "application/json" },
  body: order,
};
const served: Facts = {
  status: 200,
  outcome: "answered",
  error: undefined,
  attempts: undefined,
  seen: 1,
  arrived: ["S1000000001 with token no. 1"],
  created: 1,
  unauthorized: 0,
  tokenRequests: 0,
};

/** Tokens are fetched before the first scene; only the fifth scene needs another token. */
export const scenes: readonly Scene[] = [
  {
    title: "An order, authorised with OAuth",
    request: anOrder,
    expected: served,
  },
  {
    title: "The same again: the token is reused",
    request: anOrder,
    expected: served,
  },
  {
    title: "A child site, with its parent's token",
    request: { ...anOrder, headers: { ...anOrder.headers, "countersign-site": "S1000000002" } },
    expected: { ...served, arrived: ["S1000000002 with token no. 1"] },
  },
  {
    title: "A client from before August 2026: signed with HMAC",
    request: {
      ...anOrder,
      body: { ...order, order_amount: 25.5, order_is_standing: true, site_identifier: "S1000000003" },
    },
    expected: { ...served, arrived: ["S1000000003 with a signature"] },
  },
  {
    title: "The token was revoked: a new one, and once more",
    // Token requests are at least 1 s apart, and a token is rarely revoked that young.
    restMs: 1_000,
    fault: { host: "api", kind: "revoke_tokens" },
    request: anOrder,
    expected: {
      ...served,
      attempts: 2,
      seen: 2,
      arrived: ["S1000000001 with token no. 1", "S1000000001 with token no. 2"],
      unauthorized: 1,
      tokenRequests: 1,
    },
  },
  {
    title: "An amount of 10.005: refused, never rounded",
    request: { ...anOrder, body: { ...order, order_amount: 10.005 } },
    expected: {
      ...served,
      status: 422,
      outcome: "not_sent",
      error: "decimal_invalid",
      seen: 0,
      arrived: [],
      created: 0,
    },
  },
  {
    title: "The connection breaks after sending: never sent twice",
    fault: { host: "api", kind: "reset", when: "after_reading" },
    request: { ...anOrder, headers: { ...anOrder.headers, "countersign-reference": "A-1042" } },
    expected: {
      ...served,
      status: 502,
      outcome: "unknown",
      error: "upstream_reset",
      arrived: ["S1000000001 with token no. 2"],
    },
  },
];
