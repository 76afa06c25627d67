import { describe, expect, it } from "vitest";
import { type Names, normalise, readPage, stepsOf, toPage, toRun, writePage } from "../../scripts/operations/page.ts";

// What keeps docs/operations.md true: what it is read as, and what two runs of the same step may differ in.

const page = `# A page

## A topic

\`\`\`console
$ f() {
>   echo "$1"
> }
$ f one
one

> two
$ true
\`\`\`

\`\`\`sh
$ no step
\`\`\`
`;

describe("the page", () => {
  it("is read as commands and what they print", () => {
    expect(stepsOf(readPage(page))).toEqual([
      { topic: "A topic", command: 'f() {\n  echo "$1"\n}', output: "" },
      { topic: "A topic", command: "f one", output: "one\n\n> two" },
      { topic: "A topic", command: "true", output: "" },
    ]);
  });

  it("is written back to the letter, or with other outputs", () => {
    const parts = readPage(page);
    expect(writePage(parts, ["", "one\n\n> two", ""])).toBe(page);
    expect(writePage(parts, ["", "1", "2"])).toBe(page.replace("one\n\n> two\n$ true", "1\n$ true\n2"));
  });

  it("is refused where a block begins with output", () => {
    expect(() => readPage("```console\none\n```")).toThrow("begins with output: one");
  });
});

describe("two good runs", () => {
  it.each([
    ["times", '"time":"2026-11-21T13:50:05.588Z"', '"time":"2026-11-22T01:02:03.004Z"'],
    ["request ids", "c622c86d-fec9-4203-a292-f0596d627780", "cb2a7d6f-1720-40fd-b076-5c51d44780e1"],
    [
      "hashes of the configuration",
      '"hash":"da9463ca7c8e","previousHash":"20ec98a025a1"',
      '"hash":"c1071ee17e51","previousHash":"552eb3a9d476"',
    ],
    ["how long things took", '"durationMs":7.682,"awayMs":1512', '"durationMs":12,"awayMs":3177.501'],
    ["how long a check took", "active (hash) (19 ms)", "active (hash)"],
    [
      "what is left of a pause",
      "left alone for another 9 s; Next try in 10 s",
      "left alone for another 8 s; Next try in 9 s",
    ],
    ["what is left of a life", "live for another 23 h", "live for another 24 h"],
  ])("may differ in %s", (_, one, other) => {
    expect(normalise(one)).toBe(normalise(other));
  });

  it.each([
    ["a status", "200 answered", "502 unknown"],
    ["a count", '"tokensIssued":9', '"tokensIssued":10'],
    ["a metric's value", 'countersign_redis_up{node="cache"} 1', 'countersign_redis_up{node="cache"} 0'],
    ["a number of rounds", '"attempts":1', '"attempts":2'],
    ["a setting in ms", "(limit 100 ms each)", "(limit 200 ms each)"],
    ["a time that is none", '"time":"2026-11-21T13:50:05.588Z"', '"time":"yesterday"'],
  ])("never differ in %s", (_, one, other) => {
    expect(normalise(one)).not.toBe(normalise(other));
  });
});

describe("names", () => {
  const names: Names = new Map([
    ["7411", "7412"],
    ["7412", "31000"],
    ["/home/you", "/x+y"],
  ]);

  it("of the page stand for those of the run, each replaced once and as a whole", () => {
    expect(toRun("http://127.0.0.1:7411 7412 17411 /home/you/demo", names)).toBe(
      "http://127.0.0.1:7412 31000 17411 /x+y/demo",
    );
  });

  it("of the run are the page's again, as a terminal shows them", () => {
    expect(toPage("7412: /x+y\r\n31000\n\n", names)).toBe("7411: /home/you\n7412");
  });
});
