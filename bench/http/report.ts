import type { Measured } from "./measure.ts";

/** The result of several rounds of one program: medians, and the spread of CPU within the middle half of the rounds. */
export interface Row extends Measured {
  readonly name: string;
  readonly job: string;
  readonly spreadPercent: number;
  readonly rounds: number;
}

export function sumUp(name: string, job: string, rounds: readonly Measured[]): Row {
  const at = (key: keyof Measured, share: number) => {
    const sorted = rounds.map((round) => round[key]).sort((a, b) => a - b);
    return sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
  };
  const figures = Object.keys(rounds[0] ?? {}) as (keyof Measured)[];
  const medians = Object.fromEntries(figures.map((key) => [key, at(key, 0.5)])) as Record<keyof Measured, number>;
  const spreadPercent = ((at("cpuUs", 0.75) - at("cpuUs", 0.25)) / medians.cpuUs) * 100;
  return { name, job, rounds: rounds.length, ...medians, spreadPercent };
}

const columns: readonly (readonly [head: string, show: (row: Row) => string])[] = [
  ["program", ({ name }) => name],
  ["job", ({ job }) => job],
  ["CPU µs", ({ cpuUs }) => cpuUs.toFixed(0)],
  ["±%", ({ spreadPercent }) => spreadPercent.toFixed(0)],
  ["cold µs", ({ coldCpuUs }) => coldCpuUs.toFixed(0)],
  ["1/s", ({ rate }) => rate.toFixed(0)],
  ["p50 ms", ({ p50Ms }) => p50Ms.toFixed(1)],
  ["p99 ms", ({ p99Ms }) => p99Ms.toFixed(1)],
  ["RSS MiB", ({ rssMiB }) => rssMiB.toFixed(0)],
  ["idle", ({ idleRssMiB }) => idleRssMiB.toFixed(0)],
  ["idle CPU %", ({ idleCpuPercent }) => idleCpuPercent.toFixed(2)],
  ["start ms", ({ startMs }) => startMs.toFixed(0)],
];

/** The table, as Markdown. CPU is of the program alone, for each request. */
export function formatTable(rows: readonly Row[]): string {
  const heads = columns.map(([head]) => head);
  return toMarkdown(
    heads,
    2,
    rows.map((row) => columns.map(([, show]) => show(row))),
  );
}

/** @param texts how many columns are texts; they come first */
export function toMarkdown(heads: readonly string[], texts: number, rows: readonly (readonly string[])[]): string {
  const line = (values: readonly string[]) => `| ${values.join(" | ")} |`;
  return [line(heads), line(heads.map((_, n) => (n < texts ? "---" : "--:"))), ...rows.map(line)].join("\n");
}

const title = "CPU of the proxy for each request, in microseconds";

/** CPU for each request as bars, one for each program. */
export function drawSvg(rows: readonly Row[]): string {
  const rowHeight = 26;
  const left = 230;
  const right = 640;
  const most = Math.max(...rows.map(({ cpuUs }) => cpuUs));
  const bars = rows.map(({ name, cpuUs }, n) => {
    const y = 30 + n * rowHeight;
    const width = ((right - left) * cpuUs) / most;
    const fill = name.startsWith("Countersign") ? "#2563eb" : "#94a3b8";
    return `<text x="${left - 8}" y="${y + 13}" text-anchor="end">${name.replaceAll("&", "&amp;")}</text>
<rect x="${left}" y="${y}" width="${width.toFixed(1)}" height="18" rx="3" fill="${fill}"/>
<text x="${(left + width + 6).toFixed(1)}" y="${y + 13}">${cpuUs.toFixed(0)}</text>`;
  });
  const height = 40 + rows.length * rowHeight;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${height}" font-family="sans-serif" font-size="13">
<title>${title}</title>
<rect width="720" height="${height}" fill="#fff"/>
<text x="8" y="18" font-weight="bold">${title}</text>
${bars.join("\n")}
</svg>
`;
}
