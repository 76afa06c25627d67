/** Row 78: what noProxy and the variables mean, entry by entry. */
import { describe, expect, test } from "vitest";
import { isDirect, readNoProxyRule, readProxyUrl, readProxyVariable } from "../../../src/config/form/egress.ts";
import { addressOf } from "../../../testkit/address.ts";

function directBy(rule: string, url: string): boolean | string {
  const read = readNoProxyRule(rule);
  return "value" in read ? isDirect(addressOf(url), [read.value]) : "refused";
}

describe("an entry of noProxy", () => {
  test.each<[rule: string, direct: readonly string[], through: readonly string[]]>([
    ["*", ["https://a", "https://10.0.0.1"], []],
    [
      "a.example",
      ["https://a.example", "https://b.a.example", "http://A.EXAMPLE:81"],
      ["https://ba.example", "https://example"],
    ],
    ["a.example.", ["https://a.example", "https://b.a.example", "https://a.example."], ["https://ba.example"]],
    [".a.example.:443", ["https://b.a.example"], ["https://a.example", "https://b.a.example:444"]],
    ["a.example", ["https://a.example."], []],
    ["A.Example", ["https://a.example"], []],
    [".a.example", ["https://b.a.example", "https://c.b.a.example"], ["https://a.example", "https://ba.example"]],
    ["*.a.example", ["https://b.a.example"], ["https://a.example"]],
    ["a.example:443", ["https://a.example", "https://b.a.example:443"], ["https://a.example:8443", "http://a.example"]],
    ["proxy_1", ["http://proxy_1"], ["http://proxy_2"]],
    ["10.1.2.3", ["https://10.1.2.3", "http://10.1.2.3:81"], ["https://10.1.2.4", "https://10.1.2.3.example"]],
    ["10.1.2.3:81", ["http://10.1.2.3:81"], ["http://10.1.2.3"]],
    ["10.0.0.0/8", ["https://10.1.2.3"], ["https://11.0.0.1", "https://10.example"]],
    ["10.1.2.3/32", ["https://10.1.2.3"], ["https://10.1.2.2"]],
    ["2001:db8::/32", ["https://[2001:db8::5]"], ["https://[2001:db9::5]", "https://10.0.0.1"]],
    ["2001:DB8::1", ["https://[2001:db8:0::1]"], ["https://[2001:db8::2]"]],
    ["[2001:db8::1]", ["https://[2001:db8::1]"], ["https://[2001:db8::2]"]],
    ["[2001:db8::1]:443", ["https://[2001:db8::1]"], ["https://[2001:db8::1]:444"]],
  ])("%s", (rule, direct, through) => {
    for (const url of direct) expect(directBy(rule, url), url).toBe(true);
    for (const url of through) expect(directBy(rule, url), url).toBe(false);
  });

  test.each([
    ...["", " ", "a b", "a,b", "http://a", "a/b", "10.0.0.*", "10.0.0", "10.", "1", "10.0.0.0/33", "10.0.0.0/"],
    ...["/8", "::1/129", "*a", "a*", "a..", ".", "..a", "a..b", "[::1", "::1]:80", "[::1]:", "a:", "a:99999"],
    ...["a:b", "[10.0.0.1]x", "01.02.03.04", "café"],
  ])("%j is refused", (rule) => {
    expect(directBy(rule, "https://a")).toBe("refused");
  });
});

test.each(["http://localhost", "http://127.0.0.1:81", "http://127.9.9.9", "http://[::1]", "http://[::ffff:127.0.0.1]"])(
  "%s is reached directly, whatever noProxy says",
  (url) => {
    expect(isDirect(addressOf(url), [])).toBe(true);
  },
);

test.each([
  "http://localhost.example",
  "http://127.0.0.1.example",
  "http://[::2]",
  "http://0.0.0.1",
  "http://128.0.0.1",
])("%s is not loopback", (url) => {
  expect(isDirect(addressOf(url), [])).toBe(false);
});

describe("the address of a proxy", () => {
  test.each([
    ["http://proxy.example:3128", "http://proxy.example:3128"],
    ["https://proxy.example:3129/", "https://proxy.example:3129"],
    ["http://10.0.0.1", "http://10.0.0.1"],
    ["HTTP://[2001:DB8::1]:3128", "http://[2001:db8::1]:3128"],
  ])("%s is taken", (text, origin) => {
    expect(readProxyUrl(text)).toMatchObject({ value: { origin } });
  });

  test.each([
    ...["proxy:3128", "socks5://a:1080", "http://a/path", "http://a:0", "http://a:99999", "http://u:p@a:1"],
    ...["http://a?b", ""],
  ])("%j is refused", (text) => {
    expect(readProxyUrl(text)).toHaveProperty("fix");
  });
});

describe("HTTPS_PROXY", () => {
  test.each([
    ["http://a:3128", "http://a:3128", undefined],
    ["https://a:3128/", "https://a:3128", undefined],
    ["a:3128", "http://a:3128", undefined],
    ["a", "http://a", undefined],
    [" http://a:3128 ", "http://a:3128", undefined],
    ["http://user:pass@a:3128", "http://a:3128", "user:pass"],
    ["user:pass@a:3128", "http://a:3128", "user:pass"],
    ["http://user@a:3128", "http://a:3128", "user:"],
    ["http://user:@a:3128", "http://a:3128", "user:"],
    ["http://user:a:b@a:3128", "http://a:3128", "user:a:b"],
    ["http://u%20s:p%40%2F%C3%A9@[::1]:3128", "http://[::1]:3128", "u s:p@/é"],
  ])("%j", (text, origin, credentials) => {
    expect(readProxyVariable(text)).toMatchObject({ proxy: { origin }, credentials });
  });

  test.each([
    ...["socks5://a:1080", "ftp://a", "http://", "http://a/path", "http://a:1?b", "http://u:p@b@a:1"],
    ...["http://u:p/q@a:1", "http://:p@a:1", "http://u%3Av:p@a:1", "http://u:p%0d%0a@a:1", "http://u:%zz@a:1"],
    ...["http://u:%ff@a:1", "http://a b:1", "http://a:0"],
  ])("%j is refused", (text) => {
    expect(readProxyVariable(text)).toBeUndefined();
  });
});
