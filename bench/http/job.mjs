/** The jobs of the programs: what is sent, the key that signs it and the token that authorises it. */
import { createHmac, randomUUID } from "node:crypto";

export const key = "a-key-for-the-benchmark-only";
export const token = "tok-for-the-benchmark";
export const site = "S1000000001";

/** 250 bytes, as an application sends it. */
export const order = JSON.stringify({
  order_amount: 123.4,
  order_currency: "EUR",
  order_reference: "order-000000000000000000000001",
  order_description: "a-description-of-forty-characters-length",
  site_customer_identifier: "customer_000000001",
  return_url_identifier: "return-0001",
  is_test: true,
});

/** @returns the body that leaves: completed, in strings, signed (spec 5.2) */
export const signOrder = (text) => sign(stamp(JSON.parse(text)));

function sign(body) {
  const names = Object.keys(body).sort();
  let signed = "";
  for (const name of names) signed += name + body[name];
  body.signature = createHmac("sha256", key).update(signed).digest("hex");
  return JSON.stringify(body);
}

/** A genuine callback that differs from all others. */
function newCallback() {
  return sign(stamp({ ...JSON.parse(order), order_reference: randomUUID() }));
}

const orders = { method: "POST", path: "/create_order", body: order, rate: 1_000 };

/**
 * The request of each job. A function makes another body for each request; `isKeyed` gives each a key of its own. `rate` is
 * that of the open loop, in requests a second.
 */
export const jobs = {
  hmac: orders,
  oauth: orders,
  none: orders,
  tls: orders,
  keyed: { ...orders, isKeyed: true },
  callback: { ...orders, path: "/", body: newCallback },
  get1KiB: { method: "GET", path: "/files/1024", rate: 1_000 },
  get1MiB: { method: "GET", path: "/files/1048576", rate: 50 },
};

function stamp(given) {
  const body = {};
  for (const name in given) {
    body[name] = name.endsWith("_amount") ? given[name].toFixed(2) : String(given[name]);
  }
  body.version = "3.0";
  body.site_identifier = site;
  body.timestamp = String(Math.floor(Date.now() / 1000));
  return body;
}

/** @returns whether a body that reached the service carries its own signature */
export function isSigned(text) {
  const { signature, ...body } = JSON.parse(text);
  const signed = Object.keys(body)
    .sort()
    .map((name) => name + body[name])
    .join("");
  return body.timestamp !== undefined && createHmac("sha256", key).update(signed).digest("hex") === signature;
}
