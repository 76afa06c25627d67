/** Row 4: an unchanged client of a system or a language creates an order, by the base URL and by HTTP_PROXY. */
import { describe, it } from "vitest";
import { isInstalled, nameFor } from "../../testkit/run-program.ts";
import { body, expectOrder } from "./creates-an-order.ts";

const withJson = ["-sS", "-H", "Content-Type: application/json", "-d", body];
const python = "test/clients/programs/order.py";
const java = "test/clients/programs/Order.java";

// From 11 on, java runs a single source file.
describe.each([
  { client: "curl", program: "curl", asks: ["--version"], args: (to: string) => [...withJson, to] },
  { client: "Python's urllib", program: "python3", asks: ["--version"], args: (to: string) => [python, to, body] },
  ...["HttpClient", "HttpURLConnection"].map((client) => ({
    client: `Java's ${client}`,
    program: "java",
    asks: ["--source", "11", "--version"],
    args: (to: string) => [java, client, to, body],
  })),
])("$client", { timeout: 60_000 }, ({ client, program, asks, args }) => {
  const isThere = isInstalled(program, ...asks);

  it.runIf(isThere)(nameFor(isThere, program, "creates an order by the base URL"), () =>
    expectOrder(({ url }) => ({ command: program, args: args(url) })),
  );

  if (client === "Java's HttpURLConnection") return;
  it.runIf(isThere)(nameFor(isThere, program, "creates an order by its proxy and the service's http:// name"), () =>
    expectOrder(({ serviceUrl, proxy, proxyPort }) => ({
      command: program,
      args: [...args(serviceUrl), ...(program === "java" ? [String(proxyPort)] : [])],
      env: { http_proxy: proxy },
    })),
  );
});
