import { it } from "vitest";
import { isInstalled } from "../../testkit/run-program.ts";
import { body, expectOrder, nameFor } from "./creates-an-order.ts";

// Acceptance: Python's urllib, unchanged, creates an order by base URL and by http_proxy.

const program = "test/clients/programs/order.py";
const isThere = isInstalled("python3", "--version");

it.runIf(isThere)(nameFor(isThere, "python3", "Python's urllib creates an order by the base URL"), () =>
  expectOrder(({ url }) => ({ command: "python3", args: [program, url, body] })),
);

it.runIf(isThere)(
  nameFor(isThere, "python3", "Python's urllib creates an order by http_proxy and the service's http:// name"),
  () =>
    expectOrder(({ serviceUrl, proxy }) => ({
      command: "python3",
      args: [program, serviceUrl, body],
      env: { http_proxy: proxy },
    })),
);
