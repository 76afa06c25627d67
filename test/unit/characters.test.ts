import { describe, expect, it } from "vitest";
import type { Event } from "../../src/model/events.ts";
import { findForbiddenCharacter } from "../../src/parameters/signature.ts";
import { schemes } from "../../src/serving/authentication.ts";
import type { Route } from "../../src/serving/messages.ts";
import { cpuMsOf } from "../../testkit/cpu-time.ts";
import { refusalOf } from "./refusal-of.ts";

const exempt = new Set(["format", "signature", "call"]);
const find = (value: string) => findForbiddenCharacter([{ name: "a", value }], exempt)?.position;
const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

describe("spec 5.2 rule 3", () => {
  it("allows letters, digits, hyphen, underscore and period, and nothing else in ASCII", () => {
    for (let code = 0; code < 0x80; code += 1) {
      const character = String.fromCharCode(code);
      expect(find(character), `U+${code.toString(16)}`).toBe(allowed.includes(character) ? undefined : 1);
    }
  });

  it("finds the first such character in the given order, and ignores exempt values and all names", () => {
    const parameters = [
      { name: "format", value: "a b" },
      { name: "an odd name", value: "fine" },
      { name: "z", value: "ok x" },
      { name: "b", value: "!" },
    ];
    expect(findForbiddenCharacter(parameters, exempt)).toEqual({ name: "z", position: 3 });
    expect(findForbiddenCharacter([], exempt)).toBeUndefined();
  });

  it("takes time in proportion to the length of the value", () => {
    const tookMs = cpuMsOf(() => expect(find(`${"x".repeat(250_000)}!`)).toBe(250_001));
    expect(tookMs).toBeLessThan(200);
  });
});

describe("the site decides what happens with such a character", () => {
  const check = (auth: "hmac" | "oauth", characters: "reject" | "warn" | "off", value = "top secret") => {
    const events: Event[] = [];
    const route = {
      environment: { name: "sandbox" },
      site: { identifier: "S1", characters, exempt },
    } as unknown as Route;
    const parameters = [{ name: "note", value, isPlain: true }];
    const step = () => schemes[auth].check({ route, parameters }, (event) => events.push(event));
    return { step, events };
  };

  it("reject: 422 with the name and the position, without the value or the character", () => {
    const { step, events } = check("hmac", "reject");
    expect(refusalOf(step)).toMatchObject({
      code: "character_not_allowed",
      status: 422,
      message:
        'The value of parameter "note" has a character at position 4 that must not be signed: with HMAC only A-Z a-z ' +
        "0-9 - _ and . are allowed, and no spaces. Send the value without it.",
    });
    expect(events).toEqual([]);
  });

  it("warn: an event to count, and the request continues", () => {
    const { step, events } = check("hmac", "warn");
    step();
    expect(events).toEqual([
      { kind: "character_warned", environment: "sandbox", site: "S1", parameter: "note", position: 4 },
    ]);
  });

  it.each([
    ["hmac", "off"],
    ["oauth", "reject"],
    ["oauth", "warn"],
  ] as const)("%s, %s: nothing", (auth, characters) => {
    const { step, events } = check(auth, characters);
    step();
    expect(events).toEqual([]);
  });

  it("reject: nothing if all characters are allowed", () => {
    check("hmac", "reject", "fine.").step();
  });
});
