import { bytes, type Document, malformed, takenValue } from "./document.ts";

const text = '{"order_amount":"10.00"}';
const little = (what: string) => Buffer.from(what, "utf16le");
const big = (what: string) => little(what).swap16();
const inValue = (...raw: readonly number[]) => bytes('{"b":"', ...raw, '"}');
const inName = (...raw: readonly number[]) => bytes('{"b', ...raw, '":"x"}');

/** Row 14: bytes that are no UTF-8, or not plain UTF-8. */
export const wrongEncodings: readonly Document[] = [
  malformed("UTF-16LE", little(text)),
  malformed("UTF-16BE", big(text)),
  malformed("UTF-16LE, marked", little(`\uFEFF${text}`)),
  malformed("UTF-16BE, marked", big(`\uFEFF${text}`)),
  malformed("UTF-16LE of the empty object", little("{}")),
  malformed("UTF-16BE of the empty object", big("{}")),
  malformed("UTF-16LE of beyond U+FFFF", little('{"b":"\u{1F600}"}')),
  malformed("UTF-16LE of letters beyond Latin-1", little('{"b":"日本"}')),
  malformed("UTF-16LE behind UTF-8 white space", bytes(" ", ...little(text))),
  malformed("UTF-16, little mark before UTF-8", bytes(0xff, 0xfe, text)),
  malformed("UTF-16, big mark before UTF-8", bytes(0xfe, 0xff, text)),
  malformed("UTF-16, marks alone", bytes(0xff, 0xfe)),
  malformed("UTF-32LE", bytes(...[..."{}"].flatMap((one) => [one, 0, 0, 0]))),
  malformed("UTF-32BE, marked", bytes(0, 0, 0xfe, 0xff, 0, 0, 0, "{", 0, 0, 0, "}")),
  malformed("UTF-7", "+AHs-+AH0-"),
  malformed("EBCDIC", bytes(0xc0, 0x7f, 0x81, 0x7f, 0x7a, 0xf1, 0xd0)),
  malformed("a mark before an order", `\uFEFF${text}`),
  malformed("a mark behind white space", ` \uFEFF${text}`),
  malformed("a mark between tokens", '{"b":\uFEFF"x"}'),
  malformed("a mark before a line feed", "\uFEFF\n{}"),
  malformed("a mark in UTF-8 after a BE mark", bytes(0xfe, 0xff, 0xef, 0xbb, 0xbf, "{}")),
  malformed("overlong: U+007F in two", inValue(0xc1, 0xbf)),
  malformed("overlong: U+07FF in three", inValue(0xe0, 0x9f, 0xbf)),
  malformed("overlong: U+FFFF in four", inValue(0xf0, 0x8f, 0xbf, 0xbf)),
  malformed("overlong: a quote in three", bytes('{"b":"x', 0xe0, 0x80, 0xa2, "}")),
  malformed("overlong: a backslash in two", inValue(0xc1, 0x9c, 0x6e)),
  malformed("overlong: a brace in two", bytes(0xc1, 0xbb, 0xc1, 0xbd)),
  malformed("overlong: a in two, in a name that is there already", bytes('{"a":"1","', 0xc1, 0xa1, '":"2"}')),
  malformed("overlong: a space in two between tokens", bytes("{", 0xc0, 0xa0, "}")),
  malformed("the first high surrogate in a name", inName(0xed, 0xa0, 0x80)),
  malformed("the last high surrogate", inValue(0xed, 0xaf, 0xbf)),
  malformed("the first low surrogate", inValue(0xed, 0xb0, 0x80)),
  malformed("surrogates the wrong way round", inValue(0xed, 0xb8, 0x80, 0xed, 0xa0, 0xbd)),
  malformed("a pair in six bytes, in a name", inName(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80)),
  malformed("half by bytes, half by escape", bytes('{"b":"', 0xed, 0xa0, 0xbd, '\\ude00"}')),
  malformed("half by escape, half by bytes", bytes('{"b":"\\ud83d', 0xed, 0xb8, 0x80, '"}')),
  malformed("the first code point too high", inValue(0xf4, 0x90, 0x80, 0x80)),
  malformed("F5", inValue(0xf5, 0x80, 0x80, 0x80)),
  malformed("FE in a name", inName(0xfe)),
  malformed("a lead byte that eats the quote", bytes('{"b":"x', 0xc3, '"}')),
  malformed("a lead byte of four that eats the end", bytes('{"b":"x', 0xf0, '"}')),
  malformed("a lead byte at the very end", bytes('{"b":"x"}', 0xe2)),
  malformed("a continuation byte first of all", bytes(0xbf, "{}")),
  malformed("Latin-1 in a name", inName(0xe4)),
  malformed("Shift_JIS", inValue(0x93, 0xfa, 0x96, 0x7b)),
  malformed("GBK", inValue(0xc4, 0xe3, 0xba, 0xc3)),
  malformed("a bad byte in a nested value", bytes('{"b":[{"c":"', 0x80, '"}]}')),
  malformed("a bad byte behind a line feed", bytes("{}\n", 0x80)),
];

const asIs = (character: string) => takenValue(`"${character}"`, character);

/** Every edge of UTF-8's one, two, three and four bytes arrives as it is, and is never normalised. */
export const rightEncodings: readonly Document[] = [
  ..."\u007F\u0080\u07FF\u0800\uD7FF\uE000\uFFFD\uFFFE\uFFFF".split("").map(asIs),
  asIs("\u{10000}"),
  asIs("\u{10FFFF}"),
  asIs("a mark \uFEFF within"),
  asIs("\uFEFF"),
  asIs("e\u0301 is not \u00e9"),
  asIs("\u212B \u00C5 A\u030A"),
  asIs("\u202Eright to left\u202C"),
  asIs("\u2028\u2029"),
  asIs("\u{1F468}\u200D\u{1F469}\u200D\u{1F467}"),
  asIs("日本語 العربية עברית ไทย"),
  asIs("\uFB01 \uFF11 \u0661"),
];
