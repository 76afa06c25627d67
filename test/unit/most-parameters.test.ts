import { expect, it } from "vitest";
import { mostParameters } from "../../src/proxy/parameters.ts";

const body = (text: string) => new TextEncoder().encode(text);

it.each([
  ["{}", 0],
  ['{"a":1}', 1],
  ['{"a":1,"b":2,"c":3}', 3],
  ['{"a":"1:2"}', 2],
  ['{"a":"::::::"}', 3],
  ["", 0],
  [":", 1],
  ["::::::::::::", 2],
])("before a body is read, its parameters are bounded %s has at most %d", (text, most) => {
  expect(mostParameters(body(text))).toBe(most);
  expect(mostParameters(Buffer.from(text))).toBe(most);
});
