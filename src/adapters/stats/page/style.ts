import { createHash } from "node:crypto";

/** How old the page is, in words, from so many seconds after its display on. */
export const ages = [
  { seconds: 0, words: "less than 30 s old" },
  { seconds: 30, words: "over 30 s old" },
  { seconds: 60, words: "over 1 min old" },
  { seconds: 300, words: "over 5 min old" },
  { seconds: 3_600, words: "over 1 h old" },
] as const;
/** Three reloads have failed by now. */
const staleSeconds = ages[1].seconds;

/** Shows each words in their time: an animation of no length, which begins late and needs no script. */
const agesStyle = ages
  .map(({ seconds }, index) => {
    const next = ages[index + 1];
    const end = next === undefined ? "" : `, hide 0s ${next.seconds}s forwards`;
    return `.age-${index} { visibility: hidden; animation: show 0s ${seconds}s forwards${end}; }`;
  })
  .join("\n");

/** One style for light and dark, wide and narrow. Colours say nothing that words do not say too. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #f3f5f7; --paper: #ffffff; --ink: #1a1f25; --soft: #56606b; --line: #d9dfe5; --link: #0a5aa8;
  --good: #17663a; --good-ground: #e6f4eb; --bad: #b01f14; --bad-ground: #fdebe9; --warn: #7d4b00; --warn-ground: #fff3dc;
  --bar: #e4e9ee; --bar-end: #93b1cc; --bar-passed: #4d7396; --bar-due: #a86500; --bar-dead: #b01f14;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0e1216; --paper: #161b21; --ink: #e6eaee; --soft: #a2adb8; --line: #2a323b; --link: #8cc3ff;
    --good: #74d39b; --good-ground: #10271a; --bad: #ff9d93; --bad-ground: #351512; --warn: #f0c272; --warn-ground: #2d220d;
    --bar: #2a323b; --bar-end: #4a6580; --bar-passed: #7ea6cc; --bar-due: #e0a545; --bar-dead: #ff9d93;
  }
}
* { box-sizing: border-box; margin: 0; min-width: 0; }
body { background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 0 auto; padding: 1.25rem; overflow-wrap: break-word; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; margin-bottom: 1rem; }
header p:last-child { margin-left: auto; }
h1 { font-size: 1.25rem; letter-spacing: -.01em; }
h2 { font-size: 1.1rem; margin-bottom: .6rem; }
h3 { font-size: .95rem; margin-top: .9rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: .6rem; padding: 1.1rem 1.25rem; margin-bottom: 1rem; }
code, pre, time, .number { font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace; font-size: .9em; }
.long, pre { overflow-wrap: anywhere; white-space: pre-wrap; }
pre { user-select: all; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
ul { padding-left: 1.1rem; }
.light { background: none; border-width: 1px 0 0; border-radius: 0; margin-bottom: 0; }
.light h2 { font-size: .95rem; }
.soft, .when time { color: var(--soft); }
.when time { font-size: .8em; }
td .when, .when time, .when .age { white-space: nowrap; }
.verdict td .when { white-space: normal; }
.verdict { display: grid; grid-template-columns: auto 1fr; gap: .4rem 1.5rem; align-items: center; border-left-width: .5rem; }
.verdict .figure { font-size: 3.5rem; line-height: 1; font-weight: 650; font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdict h2 { font-size: 1.5rem; margin: 0; text-wrap: balance; }
.verdict ul, .verdict :is(ul, p) + p { margin-top: .3rem; }
.verdict table, .verdict details { grid-column: 1 / -1; margin-top: .6rem; }
.good { --tone: var(--good); --tone-ground: var(--good-ground); }
.warn { --tone: var(--warn); --tone-ground: var(--warn-ground); }
.bad { --tone: var(--bad); --tone-ground: var(--bad-ground); }
.verdict { border-color: var(--tone, var(--line)); background: var(--tone-ground, var(--paper)); }
.verdict .figure, .verdict h2 { color: var(--tone, inherit); }
.verdict .soft, .verdict time, .verdict details { color: var(--ink); }
.headline { grid-template-columns: auto 1fr minmax(0, 16rem); }
.chart svg { display: block; width: 100%; height: 3rem; border-bottom: 1px solid var(--ink); }
.chart figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: .85em; }
.chart .succeeded { fill: var(--bar-passed); background: var(--bar-passed); }
.chart .mistaken { fill: var(--bar-end); background: var(--bar-end); }
.chart .failed { fill: var(--bar-dead); background: var(--bar-dead); }
.chart .unknown { fill: var(--bar-due); background: var(--bar-due); }
.legend { flex-basis: 100%; }
.legend span { white-space: nowrap; }
.legend b { display: inline-block; width: .7em; height: .7em; margin-right: .3em; }
.reference { font-size: 1.05em; font-weight: 650; white-space: nowrap; }
.notice { color: var(--tone); background: var(--tone-ground); border: 1px solid var(--tone); border-radius: .6rem; padding: .8rem 1.25rem; margin-bottom: 1rem; }
.notice .soft, .notice time, .notice a { color: inherit; }
table { width: 100%; border-collapse: collapse; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { text-align: left; vertical-align: top; padding: .4rem .9rem .4rem 0; border-top: 1px solid var(--line); font-weight: inherit; }
th:last-child, td:last-child { padding-right: 0; }
thead th, thead th.number { border-top: 0; color: var(--soft); font-size: .85em; font-family: inherit; }
.verdict thead th { color: var(--ink); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.rest { grid-column: 1 / -1; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 1rem; align-items: start; }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1rem; margin-top: .75rem; }
.card h3 { margin: 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; justify-content: space-between; }
.badge { font-size: .8rem; font-weight: 600; padding: .05rem .55rem; border-radius: 1rem; border: 1px solid var(--line); color: var(--soft); white-space: nowrap; }
.badge.active { color: var(--ink); background: var(--bar); border-color: var(--bar); }
.badge.trouble { color: var(--bad); background: var(--bad-ground); border-color: var(--bad-ground); }
.left, .none { font-size: 1.05rem; font-weight: 600; margin-top: .5rem; }
.none { color: var(--soft); border: 1px dashed var(--line); border-radius: .3rem; padding: .2rem .6rem; margin-bottom: .4rem; }
.bar { display: block; width: 100%; height: .8rem; border-radius: .4rem; margin: .35rem 0; }
.bar .whole { fill: var(--bar-passed); } .bar .end { fill: var(--bar-end); } .bar .passed { fill: var(--bar); }
.bar.due .end { fill: var(--bar-due); } .bar.dead .passed { fill: var(--bar-dead); }
.ends { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: .85em; color: var(--soft); }
.origin { margin: .35rem 0 .5rem; }
dl > div { display: grid; grid-template-columns: 6.5rem 1fr; gap: .6rem; padding: .25rem 0; }
dt { color: var(--soft); }
dd ul { list-style: none; padding: 0; }
details { margin-bottom: .6rem; color: var(--soft); }
.part { margin: 0; color: inherit; }
.part > summary h2 { display: inline; }
@media (min-width: 60rem) {
  .part::details-content { content-visibility: visible; display: contents; }
  .part > summary { list-style: none; pointer-events: none; margin-bottom: .6rem; }
}
@keyframes show { to { visibility: visible; } }
@keyframes hide { to { visibility: hidden; } }
@keyframes fade { to { filter: grayscale(1); } }
@keyframes unfold { to { max-height: 20rem; padding-block: .8rem; border-width: 1px; margin-bottom: 1rem; visibility: visible; } }
.ages { display: inline-grid; min-width: 9em; }
.ages span { grid-area: 1 / 1; }
${agesStyle}
.stale { position: sticky; top: .5rem; z-index: 1; overflow: hidden; visibility: hidden; max-height: 0; padding-block: 0; border-width: 0; margin: 0; animation: unfold 0s ${staleSeconds}s forwards; }
main { animation: fade 0s ${staleSeconds}s forwards; }
footer { color: var(--soft); font-size: .9em; }
@media (max-width: 60rem) {
  body { padding: .75rem; }
  section { padding: .9rem; }
  section:has(> .part) { border-radius: 0; border-width: 1px 0 0; margin: 0 -.75rem; }
  header p:last-child { margin-left: 0; }
  .verdict, .headline { grid-template-columns: 1fr; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr { display: block; }
  tr { border-top: 1px solid var(--line); padding: .5rem 0; }
  th, td { display: grid; grid-template-columns: 8rem 1fr; gap: .6rem; border: 0; padding: .1rem 0; }
  th, td, .number { text-align: left; }
  td:has(> div > .soft:only-child) { display: none; }
  code { overflow-wrap: anywhere; }
  th::before, td::before { content: attr(data-title); color: var(--soft); font: .85rem/1.6 system-ui, sans-serif; }
  .verdict th::before, .verdict td::before { color: var(--ink); }
  td .when, .reference { white-space: normal; }
}
`;

/** For the page's Content-Security-Policy: this style and no other. */
export const styleHash = `sha256-${createHash("sha256").update(style).digest("base64")}`;
