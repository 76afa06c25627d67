// Draws docs/images/demo.svg: scenes of the real demo, one after the other, as a terminal shows them. It needs a build.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const shownScenes = [1, 5, 7];
const sceneSeconds = 7;
const [charWidth, lineHeight, margin] = [7.8, 18, 20];

const output = execFileSync(process.execPath, ["simulator/dist/main.js", "demo", "--once"], {
  encoding: "utf8",
  env: { ...process.env, NO_COLOR: "1" },
});
const scenes = shownScenes.map((number) => {
  const [scene = ""] = new RegExp(`^${number}  .* ok\\n[^]*?(?=^\\d  |(?![^]))`, "m").exec(output) ?? [];
  if (scene === "") throw new Error(`the demo shows no scene ${number} that is ok`);
  return ["$ npm run demo", "", ...scene.trimEnd().split("\n")];
});

const columns = Math.max(...scenes.flat().map((line) => line.length));
const rows = Math.max(...scenes.map((lines) => lines.length));
const [width, height] = [Math.ceil(columns * charWidth) + 2 * margin, rows * lineHeight + 2 * margin];
const share = 100 / scenes.length;

/** As the demo colours them in a terminal. */
function classOf(line: string): string {
  if (/^\s+\+ /.test(line)) return "added";
  if (/^\s+~ /.test(line)) return "changed";
  return /^\d {2}|^\$ /.test(line) ? "title" : "plain";
}

const escapeXml = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const drawLine = (line: string, index: number) =>
  `<text class="${classOf(line)}" x="${margin}" y="${margin + (index + 0.8) * lineHeight}">${escapeXml(line)}</text>`;
const drawScene = (lines: readonly string[], index: number) =>
  `<g class="scene" style="animation-delay:${index * sceneSeconds}s">${lines.map(drawLine).join("\n")}</g>`;

const style = `
text { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, monospace; white-space: pre; }
.plain { fill: #c9d1d9; } .title { fill: #ffffff; font-weight: 600; } .added { fill: #7ee787; } .changed { fill: #e3b341; }
.scene { opacity: 0; animation: show ${sceneSeconds * scenes.length}s infinite; }
@keyframes show { 0%, ${(share - 1).toFixed(2)}% { opacity: 1; } ${share.toFixed(2)}%, 100% { opacity: 0; } }`;
writeFileSync(
  "docs/images/demo.svg",
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="The demo: what an application sends, what leaves, and what comes back">
<style>${style}</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
${scenes.map(drawScene).join("\n")}
</svg>
`,
);
