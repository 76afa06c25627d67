import { readFileSync, writeFileSync } from "node:fs";
import type { TestCase, TestModule } from "vitest/node";
import { notTried } from "./try-with.ts";

const page = "test/real/README.md";
const table = /(<!-- tried with: written by npm run test:real -->\n)[\s\S]*(\n<!-- end -->)/;

/** Vitest's reporter that writes the results into test/real/README.md: a row for each `tryWith`, one for all clients. */
export default class Report {
  readonly #beganAtMs = Date.now();

  onTestRunEnd(modules: readonly TestModule[]): void {
    const isReal = ({ moduleId }: TestModule) => moduleId.includes("/test/real/");
    const suites = modules.filter(isReal).flatMap((module) => [...module.children.suites()]);
    const counterparts = suites.map(({ name, children }) => describeRow(name, [...children.allTests()]));
    const clients = modules.filter((module) => !isReal(module)).flatMap(({ children }) => [...children.allTests()]);
    const rows = [...counterparts.toSorted(), countClients(clients)];
    const minutes = Math.ceil((Date.now() - this.#beganAtMs) / 60_000);
    const day = new Date().toISOString().slice(0, 10);
    const text = [
      `On ${day}, on one machine with Node.js ${process.versions.node}, in ${minutes} minutes:`,
      "",
      "| program | version | what held |",
      "|---|---|---|",
      ...rows,
    ].join("\n");
    writeFileSync(
      page,
      readFileSync(page, "utf8").replace(table, (_, begin, end) => `${begin}${text}${end}`),
    );
  }
}

function describeRow(name: string, tests: readonly TestCase[]): string {
  const [, program, version] = /^(.+?) (NOT TRIED|\S+)$/.exec(name) ?? [];
  if (version === notTried) return `| ${program} | | ${notTried}: it could not be had |`;
  const sentences = tests.map((test) => {
    const state = test.result().state;
    return state === "passed" ? test.name : `**${state}**: ${test.name}`;
  });
  return `| ${program} | ${version} | ${sentences.join("; ")} |`;
}

function countClients(tests: readonly TestCase[]): string {
  const inState = (wanted: string) => tests.filter((test) => test.result().state === wanted).length;
  const failed = inState("failed");
  const held = `${inState("passed")} tests${failed === 0 ? "" : `, **${failed} failed**`}, ${inState("skipped")} ${notTried}`;
  return `| [the clients of examples](../../docs/clients.md) | as there | ${held} |`;
}
