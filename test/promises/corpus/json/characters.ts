import { type Document, taken, unfit } from "./document.ts";

const forbidden = [
  ...[..." !\"#$%&'()*+,/:;<=>?@[\\]^`{|}~\u007F\u0080\u00e9\u0131\u017F\u0410\u0661\u212A\u3042\uFF11"],
  ...["\u0000", "\t", "\n", "\r", "\u001B", "\u{1F600}", "\u200B", "\uFEFF", "e\u0301", "\u2212", "\u2024", "\u2010"],
];

/** Spec 5.2 rule 3, at a site that goes by it: everything in a signed value but letters, digits, - _ and . */
export const forbiddenCharacters: readonly Document[] = [
  ...forbidden.map((one) =>
    unfit("character_not_allowed", `the character ${JSON.stringify(one)}`, `{"a":${JSON.stringify(`x${one}y`)}}`),
  ),
  unfit("character_not_allowed", "a space at the end", '{"site_customer_identifier":"customer_1 "}'),
  unfit("character_not_allowed", "a space alone", '{"site_customer_identifier":" "}'),
  unfit("character_not_allowed", "an e-mail address behind allowed values", '{"a":"1","b":2,"c":"a@b.example"}'),
  taken("every allowed character", '{"a":"ABCxyz0189-_."}', [["a", "ABCxyz0189-_."]]),
  taken("an empty value", '{"empty":""}', [["empty", ""]]),
  taken("numbers and booleans", '{"n":-1.50,"t":true,"f":false}', [
    ["n", "-1.50"],
    ["t", "true"],
    ["f", "false"],
  ]),
  taken("any character in what is never signed", '{"format":"a b@c \u00e9","call":"\u{1F600}"}', [
    ["format", "a b@c \u00e9"],
    ["call", "\u{1F600}"],
  ]),
  taken("any character in what is dropped", '{"signature":"a b","timestamp":"\u00e9","b":"1"}', [["b", "1"]]),
];
