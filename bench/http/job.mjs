/** The job of every program: the order, the key that signs it and the token that authorises it. */
import { createHmac } from "node:crypto";

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
export function signOrder(text) {
  const body = stamp(JSON.parse(text));
  const names = Object.keys(body).sort();
  let signed = "";
  for (const name of names) signed += name + body[name];
  body.signature = createHmac("sha256", key).update(signed).digest("hex");
  return JSON.stringify(body);
}

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
