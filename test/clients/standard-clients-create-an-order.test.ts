/** Row 4: an unchanged client of a system or a language creates an order, by the base URL and by HTTP_PROXY. */
import { describe, it } from "vitest";
import { isInstalled } from "../../testkit/run-program.ts";
import { body, expectOrder, nameFor } from "./creates-an-order.ts";

const slowly = 60_000;
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
])("$client", ({ client, program, asks, args }) => {
  const isThere = isInstalled(program, ...asks);
  const creates = it.runIf(isThere);

  creates(
    nameFor(isThere, program, "creates an order by the base URL"),
    () => expectOrder(({ url }) => ({ command: program, args: args(url) })),
    slowly,
  );

  if (client === "Java's HttpURLConnection") return;
  creates(
    nameFor(isThere, program, "creates an order by its proxy and the service's http:// name"),
    () =>
      expectOrder(({ serviceUrl, proxy, proxyPort }) => ({
        command: program,
        args: [...args(serviceUrl), ...(program === "java" ? [String(proxyPort)] : [])],
        env: { http_proxy: proxy },
      })),
    slowly,
  );
});
