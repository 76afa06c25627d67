import { it } from "vitest";
import { isInstalled } from "../../testkit/run-program.ts";
import { body, expectOrder, nameFor } from "./creates-an-order.ts";

// Acceptance and row 4: Java's clients, unchanged, create an order. HttpClient sends `Upgrade: h2c` with its first POST.

const program = "test/clients/programs/Order.java";
// From 11 on, java runs a single source file.
const isThere = isInstalled("java", "--source", "11", "--version");
const slowly = 60_000;

it.runIf(isThere).each(["HttpClient", "HttpURLConnection"])(
  nameFor(isThere, "java", "Java's %s creates an order by the base URL"),
  (client) => expectOrder(({ url }) => ({ command: "java", args: [program, client, url, body] })),
  slowly,
);

it.runIf(isThere)(
  nameFor(isThere, "java", "Java's HttpClient creates an order by its proxy and the service's http:// name"),
  () =>
    expectOrder(({ serviceUrl, proxyPort }) => ({
      command: "java",
      args: [program, "HttpClient", serviceUrl, body, String(proxyPort)],
    })),
  slowly,
);
