/** The benchmarks print what they measured, and the measured code does its work. */
import { expect, it } from "vitest";
import { isSigned, order, signOrder } from "../../bench/http/job.mjs";
import { drawSvg, formatTable, sumUp } from "../../bench/http/report.ts";
import { operations } from "../../bench/micro/operations.ts";

const round = (cpuUs: number) => {
  const idle = { idleRssMiB: 7, idleCpuPercent: 0.08 };
  return { startMs: 1, coldCpuUs: 2, cpuUs, rate: 3, p50Ms: 4, p99Ms: 5, rssMiB: 6, ...idle };
};

it("summarises rounds by their median and the spread of the middle half", () => {
  const row = sumUp("Countersign HMAC", "hmac", [90, 100, 110, 95, 500].map(round));
  expect(row).toMatchObject({ cpuUs: 100, rounds: 5, spreadPercent: 15 });
});

it("shows each program as a line of the table and a bar of the picture", () => {
  const rows = [sumUp("A", "none", [round(10)]), sumUp("B & C", "hmac", [round(20)])];
  expect(formatTable(rows).split("\n")).toHaveLength(4);
  expect(formatTable(rows)).toContain("| 6 | 7 | 0.08 | 1 |");
  expect(drawSvg(rows).match(/<rect x=/g)).toHaveLength(2);
  expect(drawSvg(rows)).toContain("B &amp; C");
});

it("counts only an order that was signed after it was completed", () => {
  const signed = signOrder(order);
  expect(isSigned(signed)).toBe(true);
  expect(isSigned(signed.replace("123.40", "123.41"))).toBe(false);
  expect(isSigned(order)).toBe(false);
});

it.each(operations)("the measured step of an order does its work: $name", async ({ open }) => {
  expect(await open()()).toBeUndefined();
});
