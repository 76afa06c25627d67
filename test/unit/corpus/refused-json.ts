const utf8 = (text: string) => new TextEncoder().encode(text);
const bytes = (...parts: readonly (string | number)[]) =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...utf8(part)] : [part])));
const utf16 = (text: string, isLittle: boolean, mark: boolean) => {
  const little = Buffer.from(mark ? `\uFEFF${text}` : text, "utf16le");
  return Uint8Array.from(isLittle ? little : little.swap16());
};

/** Bytes that are not JSON as exchanged between systems: RFC 8259 section 8.1. */
export const refusedBytes: readonly (readonly [fault: string, body: Uint8Array])[] = [
  ["a byte order mark", bytes(0xef, 0xbb, 0xbf, '{"a":"b"}')],
  ["two byte order marks", bytes(0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, "{}")],
  ["half a byte order mark", bytes(0xef, 0xbb, "{}")],
  ["a byte order mark alone", bytes(0xef, 0xbb, 0xbf)],
  ["UTF-16, little endian, marked", utf16('{"a":"b"}', true, true)],
  ["UTF-16, big endian, marked", utf16('{"a":"b"}', false, true)],
  ["UTF-16, little endian", utf16('{"a":"b"}', true, false)],
  ["UTF-16, big endian", utf16('{"a":"b"}', false, false)],
  ["UTF-32, big endian", bytes(0, 0, 0, "{", 0, 0, 0, "}")],
  ["UTF-32, little endian, marked", bytes(0xff, 0xfe, 0, 0, "{", 0, 0, 0, "}", 0, 0, 0)],
  ["one NUL", bytes(0)],
  ["Latin-1", bytes('{"a":"', 0xe9, '"}')],
  ["Windows-1252 quotes", bytes("{", 0x93, "a", 0x94, ":1}")],
  ["a continuation byte alone", bytes('{"a":"', 0x80, '"}')],
  ["the last continuation byte alone", bytes('{"a":"', 0xbf, '"}')],
  ["a continuation byte too many", bytes('{"a":"', 0xc3, 0xa9, 0xa9, '"}')],
  ["two bytes cut to one", bytes('{"a":"', 0xc3, '"}')],
  ["three bytes cut to two", bytes('{"a":"', 0xe2, 0x82, '"}')],
  ["four bytes cut to three", bytes('{"a":"', 0xf0, 0x9f, 0x98, '"}')],
  ["a character cut by the end", bytes('{"a":"', 0xe2, 0x82)],
  ["/ in two bytes", bytes('{"a":"', 0xc0, 0xaf, '"}')],
  ["a quote in two bytes", bytes('{"a":', 0xc0, 0xa2, "b", 0xc0, 0xa2, "}")],
  ["NUL in two bytes", bytes('{"a":"', 0xc0, 0x80, '"}')],
  ["a in two bytes", bytes('{"', 0xc1, 0xa1, '":1}')],
  ["/ in three bytes", bytes('{"a":"', 0xe0, 0x80, 0xaf, '"}')],
  ["/ in four bytes", bytes('{"a":"', 0xf0, 0x80, 0x80, 0xaf, '"}')],
  ["a raw high surrogate", bytes('{"a":"', 0xed, 0xa0, 0x80, '"}')],
  ["a raw low surrogate", bytes('{"a":"', 0xed, 0xbf, 0xbf, '"}')],
  ["CESU-8: a pair in six bytes", bytes('{"a":"', 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80, '"}')],
  ["beyond U+10FFFF", bytes('{"a":"', 0xf4, 0x90, 0x80, 0x80, '"}')],
  ["five bytes", bytes('{"a":"', 0xf8, 0x88, 0x80, 0x80, 0x80, '"}')],
  ["six bytes", bytes('{"a":"', 0xfc, 0x84, 0x80, 0x80, 0x80, 0x80, '"}')],
  ["FE", bytes('{"a":"', 0xfe, '"}')],
  ["FF", bytes('{"a":"', 0xff, '"}')],
  ["a bad byte in a name", bytes('{"', 0xff, '":1}')],
  ["a bad byte between tokens", bytes('{"a":', 0xff, "1}")],
  ["a bad byte behind the object", bytes('{"a":1}', 0xff)],
  ["gzip", bytes(0x1f, 0x8b, 8, 0, 0, 0, 0, 0)],
];

/** Half of a surrogate pair as an escape: JSON by its grammar, but UTF-8 cannot encode it (RFC 8259 section 8.2). */
export const loneSurrogates: readonly (readonly [fault: string, text: string])[] = [
  ["a high one", '{"a":"\\ud800"}'],
  ["the last high one", '{"a":"\\uDBFF"}'],
  ["a low one", '{"a":"\\udc00"}'],
  ["the last low one", '{"a":"\\uDFFF"}'],
  ["the wrong way round", '{"a":"\\udc00\\ud800"}'],
  ["two high halves", '{"a":"\\ud83d\\ud83d"}'],
  ["two low halves", '{"a":"\\udc00\\udc00"}'],
  ["two high halves and a low one", '{"a":"\\ud83d\\ud83d\\ude00"}'],
  ["a high one and a letter", '{"a":"\\ud83dx"}'],
  ["a high one and an escaped letter", '{"a":"\\ud83d\\u0041"}'],
  ["a high one and a line feed", '{"a":"\\ud83d\\n"}'],
  ["a pair and a low one", '{"a":"\\ud83d\\ude00\\ude00"}'],
  ["in a name", '{"\\ud800":"b"}'],
  ["in a nested value", '{"a":["\\ud800"]}'],
  ["in a nested name", '{"a":{"\\udfff":1}}'],
];

/** JSON, but not an object; and the refusal's name for it. */
export const otherTopLevels: readonly (readonly [text: string, called: string])[] = [
  ["[]", "an array"],
  ['[{"a":"b"}]', "an array"],
  ['"a"', "a string"],
  ['"{}"', "a string"],
  ["1", "a number"],
  ["-1.5e3", "a number"],
  ["true", "a boolean"],
  ["false", "a boolean"],
  ["null", "null"],
  [" \n[1]", "an array"],
];
