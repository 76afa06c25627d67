/** The egress settings of an environment: which are refused, and the meaning of noProxy and of the variables, entry by entry. */
import { describe, expect, test } from "vitest";
import { explain, routes } from "../../../src/config/explain.ts";
import { isDirect, noProxyForm, proxyUrlForm, readProxyVariable } from "../../../src/config/form/egress.ts";
import type { Loaded } from "../../../src/config/load.ts";
import { addressOf } from "../../../testkit/address.ts";
import { authority } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production, sound } from "../../../testkit/config-folder.ts";
import { fault, inSandbox, itRefuses, operations } from "./refusal.ts";

const withEgress = (egress: string) => inSandbox(`egress: ${egress}`);
const userInfo = "canary-user:canary-proxy-password";
const inVariable = `http://${userInfo}@proxy.example:3128`;

const egressOf = ({ config }: Sound) => config.environments.get("sandbox")?.egress;

describe("egress", () => {
  test("left out: an environment has no proxy, whatever the variables say", async () => {
    const env = { HTTPS_PROXY: inVariable, https_proxy: inVariable, HTTP_PROXY: inVariable, ALL_PROXY: inVariable };
    expect(egressOf(await load(sound, env))).toBeUndefined();
  });

  test("has a proxy, its credentials, and the hosts that are reached without it", async () => {
    const files = "auth: { file: DIR/auth }, tls: { caFile: DIR/ca }";
    const noProxy = "noProxy: [login.sandbox.example, 10.0.0.0/8]";
    const loaded = await load(withEgress(`{ proxy: 'https://proxy.example:3129', ${noProxy}, ${files} }`));
    const egress = egressOf(loaded);
    expect(egress).toMatchObject({
      proxy: { origin: "https://proxy.example:3129", scheme: "https", host: "proxy.example", port: 3_129, path: "" },
      noProxy: ["login.sandbox.example", "10.0.0.0/8"],
      direct: new Set(["https://login.sandbox.example"]),
      tls: { ca: authority },
    });
    expect(egress?.credentials?.reveal()).toBe(userInfo);
    expect(routes(loaded.config)[0]).toMatch(
      /; through the proxy proxy\.example:3129, except for https:\/\/login\.sandbox\.example$/,
    );
    expect(explain(loaded.config)).toHaveProperty("environments.sandbox.egress", {
      proxy: "https://proxy.example:3129",
      auth: { file: expect.stringMatching(/\/auth$/) },
      noProxy: ["login.sandbox.example", "10.0.0.0/8"],
      tls: { caFile: expect.stringMatching(/\/ca$/) },
    });
  });

  test("environment takes HTTPS_PROXY and NO_PROXY, the upper case first", async () => {
    const env = {
      HTTPS_PROXY: inVariable,
      https_proxy: "http://other.example",
      NO_PROXY: " .cluster.local, login.sandbox.example 10.0.0.0/8,,",
      no_proxy: "*",
    };
    const loaded = await load(withEgress("environment"), env);
    const egress = egressOf(loaded);
    expect(egress?.proxy.origin).toBe("http://proxy.example:3128");
    expect(egress?.credentials?.reveal()).toBe(userInfo);
    expect(egress?.noProxy).toEqual([".cluster.local", "login.sandbox.example", "10.0.0.0/8"]);
    expect([...(egress?.direct ?? [])]).toEqual(["https://login.sandbox.example"]);
    expect(explain(loaded.config)).toHaveProperty("environments.sandbox.egress", "environment");
  });

  test("environment takes lower-case variables if there are no others, and ignores empty variables", async () => {
    const env = { HTTPS_PROXY: "", https_proxy: "proxy.example:3128", NO_PROXY: " ", no_proxy: "api.sandbox.example" };
    const egress = egressOf(await load(withEgress("environment"), env));
    expect(egress).toMatchObject({ proxy: { origin: "http://proxy.example:3128" }, credentials: undefined });
    expect([...(egress?.direct ?? [])]).toEqual(["https://api.sandbox.example"]);
  });
});

const proxy = "proxy: 'http://proxy.example:3128'";
const wrong = (egress: string, said: string, files = {}) => fault(withEgress(egress), `.egress${said}`, files);
const ofVariables = (env: Record<string, string>, said: string) =>
  fault(withEgress("environment"), `.egress${said}`, {}, env);

itRefuses("an egress that cannot work", [
  ofVariables({ ALL_PROXY: inVariable, HTTP_PROXY: inVariable }, ": HTTPS_PROXY is not set … set it, or remove egress"),
  wrong("system", ": not known … write environment or { proxy"),
  wrong("{ noProxy: [a] }", ".proxy: proxy is missing … http://proxy.example:3128"),
  wrong("{ proxy: 'socks5://a:1080' }", ".proxy: cannot be read … SOCKS"),
  wrong(`{ proxy: '${inVariable}' }`, ".proxy: belong in a file … auth: { file"),
  wrong(`{ ${proxy}, noProxy: ['10.0.0.*'] }`, ".noProxy[0]: cannot be read … 10.0.0.0/8"),
  ...["canary-proxy-password", "user:canary\nmore-canary\n"].map((auth) =>
    wrong(`{ ${proxy}, auth: { file: DIR/auth } }`, ".auth: not user:password … one line", { auth }),
  ),
  wrong(`{ ${proxy}, auth: { file: DIR/none } }`, ".auth: cannot be read (ENOENT) … create the file"),
  wrong(`{ ${proxy}, auth: '${userInfo}' }`, ".auth: never written into the configuration … { file: "),
  wrong(`{ ${proxy}, tls: { caFile: DIR/ca } }`, ".tls: http:// has no TLS … https", { ca: authority }),
  ofVariables(
    { HTTPS_PROXY: `socks5://${userInfo}@a:1` },
    ": HTTPS_PROXY is not the address of an HTTP proxy … percent-encoded",
  ),
  ofVariables({ https_proxy: "a:1", no_proxy: "ok,10.0.0.*" }, ": no_proxy has an entry … 10.0.0.0/8"),
]);

test("two environments may share a proxy", async () => {
  const egress = "    egress: { proxy: 'http://proxy.example:3128' }\n";
  const both = edited([operations, operations + egress]) + production + egress;
  expect((await load(both)).config.environments.get("production")?.egress?.proxy.host).toBe("proxy.example");
});

function directBy(rule: string, url: string): boolean | string {
  const read = noProxyForm.read(rule);
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
    "",
    " ",
    "a b",
    "a,b",
    "http://a",
    "a/b",
    "10.0.0.*",
    "10.0.0",
    "10.",
    "1",
    "10.0.0.0/33",
    "10.0.0.0/",
    "/8",
    "::1/129",
    "*a",
    "a*",
    "a..",
    ".",
    "..a",
    "a..b",
    "[::1",
    "::1]:80",
    "[::1]:",
    "a:",
    "a:99999",
    "a:b",
    "[10.0.0.1]x",
    "01.02.03.04",
    "café",
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
  ])("%s is accepted", (text, origin) => {
    expect(proxyUrlForm.read(text)).toMatchObject({ value: { origin } });
  });

  test.each([
    "proxy:3128",
    "socks5://a:1080",
    "http://a/path",
    "http://a:0",
    "http://a:99999",
    "http://u:p@a:1",
    "http://a?b",
    "",
  ])("%j is refused", (text) => {
    expect(proxyUrlForm.read(text)).toHaveProperty("fix");
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
    "socks5://a:1080",
    "ftp://a",
    "http://",
    "http://a/path",
    "http://a:1?b",
    "http://u:p@b@a:1",
    "http://u:p/q@a:1",
    "http://:p@a:1",
    "http://u%3Av:p@a:1",
    "http://u:p%0d%0a@a:1",
    "http://u:%zz@a:1",
    "http://u:%ff@a:1",
    "http://a b:1",
    "http://a:0",
  ])("%j is refused", (text) => {
    expect(readProxyVariable(text)).toBeUndefined();
  });
});

type Sound = Extract<Loaded, { kind: "loaded" }>;

async function load(yaml: string, env: Record<string, string> = {}): Promise<Sound> {
  const folder = new ConfigFolder({ auth: `${userInfo}\n`, ca: authority });
  const loaded = await folder.loadSound(yaml, { env });
  expect(JSON.stringify([explain(loaded.config), loaded.warnings, routes(loaded.config)])).not.toContain("canary");
  return loaded;
}
