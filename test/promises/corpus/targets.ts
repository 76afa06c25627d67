import { rawPost } from "../../../testkit/raw-caller.ts";
import type { Case } from "./framing.ts";

/** Request targets by the status of an order to each (RFC 9112 3.2; product section 2); `own` is the service's host and port. */
const byStatus = (own: string, url = `http://${own}/json-api`): Readonly<Record<number, readonly string[]>> => ({
  400: [
    // Origin-form that is more than plain segments.
    ...["/", "/create_order//", "/create_order/", "/create_order#x", "/create_order@evil.example"],
    ...["/..;/create_order", "/create order", "//127.0.0.1/create_order", "///create_order"],
    ...["/json-api//create_order", "//evil.example:80/create_order", "//user@evil.example/create_order"],
    ...["/http://evil.example/create_order", "/\\create_order", "/\\\\evil.example\\create_order"],
    ...["/json-api\\create_order", "/.", "/..", "/create_order/..", "/create_order/../../oauth/token"],
    ...["/.../create_order", "/create.order", "/.create_order", "/.;/create_order", "/create_order;v=1"],
    ...["/;v=1/create_order", "/create_order:80", "/@127.0.0.1/create_order", "/create_order,get_order"],
    ...["/create_order=1", "/create+order", "/~create_order", "/*", "/create_*", "/$" + "{create_order}"],
    ...["/[::1]/create_order", "/create_order|get_order", '/"create_order"', "/<create_order>", "/create_order#"],
    // Encoded.
    ...["/%2fevil.example/create_order", "/json-api%2Fcreate_order", "/%5cevil.example"],
    ...["/%2e%2e/%2E%2E/create_order", "/.%2e/create_order", "/%252e%252e/create_order", "/create_order%00.json"],
    ...["/create_order%0d%0aHost:%20evil.example", "/create_order%20", "/create_order%3fx=1", "/create_order%23"],
    ...["/create%5forder", "/%c0%ae%c0%ae/create_order", "/create_order%2", "/create_order%zz"],
    ...["/%u002e%u002e/create_order", "/%ef%bc%8fevil.example"],
    // Queries.
    ...["/create_order?order_amount=1.00", "/create_order/?", "/create_order?url=http://evil.example/"],
    ...["/?/create_order"],
    // Asterisk-form, which is for OPTIONS only, and authority-form, for CONNECT only.
    ...["*", "**", "127.0.0.1:80", "evil.example:443", "evil.example", "create_order/", "\\", "../create_order"],
    ...["?create_order"],
    // Bytes that no target may have.
    ...["/create_order\xff", "/create_\xc3\xb6rder", "/create_order\xe2\x80\x8b", "\xef\xbc\x8fcreate_order"],
    ...["/\0create_order", "/create_order\x7f", "/create_order\x0b", "/\x1b[31mcreate_order"],
    // Absolute-form with the environment's own host, but without an operation.
    ...[`http://me@${own}/json-api/create_order`, `http://@${own}/json-api/create_order`],
    ...[`http://me%40evil.example@${own}/json-api/create_order`],
    ...[`http://${own}@evil.example/json-api/create_order`, `${url}/../json-api/create_order`],
    ...[`${url}/%2E%2e/create_order`, `${url}//create_order`, `${url}/create_order/`, `${url}/`],
    ...[`${url}/create_order?`, `${url}/create_order#/get_order`],
    ...[`http://${own}\\.evil.example/json-api/create_order`, `${url}/\\evil.example`],
    ...[`://${own}/json-api/create_order`, `http:/${own}/json-api/create_order`],
    ...[`http:${own}/json-api/create_order`, `http:\\\\${own}\\json-api\\create_order`],
    ...["data:text/plain,create_order", "javascript:alert(1)"],
  ],
  403: [
    ...["/delete_order", "/CREATE_ORDER", "/create_order/get_order", "/json-api/create_order", "/oauth/token"],
    ...["/metrics", "/create-order", "/__proto__", `/${"a".repeat(8_000)}`, "/a".repeat(4_000)],
    ...["http://evil.example/json-api/create_order", "https://evil.example/json-api/create_order"],
    ...["http://127.0.0.1:9/json-api/create_order", "http://localhost/json-api/create_order"],
    ...["http://2130706433/json-api/create_order", "http://0x7f.1/json-api/create_order"],
    ...["http://[::ffff:127.0.0.1]/json-api/create_order", "http://169.254.169.254/latest/meta-data"],
    ...["http:///create_order", "http://:80/json-api/create_order", `https://${own}/json-api/create_order`],
    ...[`ws://${own}/json-api/create_order`, url, `http://${own}`],
    ...[`ftp://${own}/json-api/create_order`, `http://${own}:/json-api/create_order`],
    ...[`http://${own}:80/json-api/create_order`],
    ...[`http://${own}.evil.example/json-api/create_order`],
    ...[`http://${own}%2fjson-api/create_order`, `http://${own}/create_order`],
    ...[`http://${own}/json-api-2/create_order`, `http://${own}/Json-Api/create_order`],
    ...[`http://${own}/json%2dapi/create_order`, `http://${own}//json-api/create_order`],
    ...[`${url}/delete_order`],
  ],
  431: [...[`/${"a".repeat(17_000)}`]],
  200: [...["/create_order", `${url}/create_order`, `HTTP://${own}/json-api/create_order`]],
});

/** @param own `127.0.0.1:port`, which only the running test knows */
export function targetsAt(own: string): Case[] {
  return Object.entries(byStatus(own)).flatMap(([status, targets]) =>
    targets.map(
      (target): Case => [`${status} ${JSON.stringify(target.slice(0, 80))}`, rawPost({ target }), [Number(status)]],
    ),
  );
}
