import { it } from "vitest";
import { isInstalled } from "../../testkit/run-program.ts";
import { body, expectOrder, nameFor } from "./creates-an-order.ts";

// Acceptance: plain curl creates an order through Countersign, by base URL and by http_proxy (origin and absolute form).

const isThere = isInstalled("curl", "--version");
const json = ["-sS", "-H", "Content-Type: application/json", "-d", body];

it.runIf(isThere)(nameFor(isThere, "curl", "curl creates an order by the base URL"), () =>
  expectOrder(({ url }) => ({ command: "curl", args: [...json, url] })),
);

it.runIf(isThere)(nameFor(isThere, "curl", "curl creates an order by http_proxy and the service's http:// name"), () =>
  expectOrder(({ serviceUrl, proxy }) => ({
    command: "curl",
    args: [...json, serviceUrl],
    env: { http_proxy: proxy },
  })),
);
