/** Row 78: what an environment says of its way out, and what is refused and warned of. */
import { describe, expect, test } from "vitest";
import { explain, routes } from "../../../src/config/explain.ts";
import type { Loaded } from "../../../src/config/load.ts";
import { authority } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production, sound } from "../../../testkit/config-folder.ts";
import { after, inSandbox, itRefuses, type Refusal } from "./refusal.ts";

const withEgress = (egress: string) => after(inSandbox.trimEnd().concat("\n"), `    egress: ${egress} # here`);
const userInfo = "canary-user:canary-proxy-password";
const inVariable = `http://${userInfo}@proxy.example:3128`;
const path = "environments.sandbox.egress";

async function load(yaml: string, env: Record<string, string> = {}): Promise<Extract<Loaded, { kind: "loaded" }>> {
  const folder = new ConfigFolder();
  folder.write("auth", `${userInfo}\n`);
  folder.write("ca", authority);
  const loaded = await folder.load(yaml, { env });
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  expect(JSON.stringify([explain(loaded.config), loaded.warnings, routes(loaded.config)])).not.toContain("canary");
  return loaded;
}

const codesOf = ({ warnings }: Extract<Loaded, { kind: "loaded" }>) =>
  warnings.map(({ code, path: at }) => `${code} ${at}`).filter((text) => text.startsWith("proxy_"));
const egressOf = ({ config }: Extract<Loaded, { kind: "loaded" }>) => config.environments.get("sandbox")?.egress;

describe("egress", () => {
  test("without it an environment has no proxy, whatever the variables say", async () => {
    const env = { HTTPS_PROXY: inVariable, https_proxy: inVariable, HTTP_PROXY: inVariable, ALL_PROXY: inVariable };
    expect(egressOf(await load(sound, env))).toBeUndefined();
  });

  test("names a proxy, who asks it, and what it is not for", async () => {
    const loaded = await load(
      withEgress(
        "{ proxy: 'https://proxy.example:3129', auth: { file: DIR/auth }, noProxy: [login.sandbox.example, 10.0.0.0/8], tls: { caFile: DIR/ca } }",
      ),
    );
    const egress = egressOf(loaded);
    expect(egress).toMatchObject({
      proxy: { origin: "https://proxy.example:3129", scheme: "https", host: "proxy.example", port: 3_129, path: "" },
      noProxy: ["login.sandbox.example", "10.0.0.0/8"],
      direct: new Set(["https://login.sandbox.example"]),
      tls: { ca: authority },
    });
    expect(egress?.credentials?.reveal()).toBe(userInfo);
    expect(routes(loaded.config)[0]).toMatch(
      /; through the proxy proxy\.example:3129, but for https:\/\/login\.sandbox\.example$/,
    );
    expect(explain(loaded.config)).toMatchObject({
      environments: {
        sandbox: {
          egress: {
            proxy: "https://proxy.example:3129",
            auth: expect.stringMatching(/^\[secret from file .*\/auth\]$/),
            noProxy: ["login.sandbox.example", "10.0.0.0/8"],
            direct: ["https://login.sandbox.example"],
            tls: { privateCa: true, clientCertificate: false },
          },
        },
      },
    });
    expect(codesOf(loaded)).toEqual([]);
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
    expect(explain(loaded.config)).toHaveProperty("environments.sandbox.egress.auth", "[secret from env HTTPS_PROXY]");
    expect(codesOf(loaded)).toEqual([`proxy_password_in_plain_text ${path}`]);
  });

  test("environment takes the lower case where that is all there is, and empty variables for none", async () => {
    const env = { HTTPS_PROXY: "", https_proxy: "proxy.example:3128", NO_PROXY: " ", no_proxy: "api.sandbox.example" };
    const egress = egressOf(await load(withEgress("environment"), env));
    expect(egress).toMatchObject({ proxy: { origin: "http://proxy.example:3128" }, credentials: undefined });
    expect([...(egress?.direct ?? [])]).toEqual(["https://api.sandbox.example"]);
  });

  test("environment reads no other variable: without HTTPS_PROXY every host is reached directly, with a warning", async () => {
    const loaded = await load(withEgress("environment"), { ALL_PROXY: inVariable, HTTP_PROXY: inVariable });
    expect(egressOf(loaded)).toBeUndefined();
    expect(codesOf(loaded)).toEqual([`proxy_variable_unset ${path}`]);
  });
});

describe("warns", () => {
  test("of a variable that is set and not used, and names who does not use it", async () => {
    const loaded = await load(sound + production, { https_proxy: inVariable });
    expect(codesOf(loaded)).toEqual(["proxy_variable_unused environments"]);
    expect(loaded.warnings.find(({ code }) => code === "proxy_variable_unused")?.message).toBe(
      "https_proxy is set and not used: sandbox, production are reached directly",
    );
  });

  test("of none where each environment says where its way leads", async () => {
    const egress = withEgress("{ proxy: 'http://127.0.0.1:3128', auth: { file: DIR/auth } }");
    expect(codesOf(await load(egress, { HTTPS_PROXY: inVariable }))).toEqual([]);
  });

  test("of a password that goes over the network in plain text", async () => {
    const egress = withEgress("{ proxy: 'http://proxy.example:3128', auth: { file: DIR/auth } }");
    expect(codesOf(await load(egress))).toEqual([`proxy_password_in_plain_text ${path}`]);
  });
});

const proxy = "proxy: 'http://proxy.example:3128'";
const refusals: readonly Refusal[] = [
  {
    what: "a word that it does not know",
    yaml: withEgress("system"),
    path,
    message: /not known/,
    fix: /^write environment or \{ proxy/,
  },
  {
    what: "no proxy",
    yaml: withEgress("{ noProxy: [a] }"),
    path: `${path}.proxy`,
    message: /proxy is missing/,
    fix: /http:\/\/proxy\.example:3128/,
  },
  {
    what: "a SOCKS proxy",
    yaml: withEgress("{ proxy: 'socks5://a:1080' }"),
    path: `${path}.proxy`,
    message: /cannot be read/,
    fix: /SOCKS/,
  },
  {
    what: "a password in the address",
    yaml: withEgress(`{ proxy: '${inVariable}' }`),
    path: `${path}.proxy`,
    message: /stand in a file/,
    fix: /auth: \{ file/,
  },
  {
    what: "an entry that matches nothing",
    yaml: withEgress(`{ ${proxy}, noProxy: ['10.0.0.*'] }`),
    path: `${path}.noProxy[0]`,
    message: /cannot be read/,
    fix: /10\.0\.0\.0\/8/,
  },
  {
    what: "credentials without a colon",
    yaml: withEgress(`{ ${proxy}, auth: { file: DIR/only } }`),
    files: { only: "canary-proxy-password" },
    path: `${path}.auth`,
    message: /not user:password/,
    fix: /one line/,
  },
  {
    what: "credentials in two lines",
    yaml: withEgress(`{ ${proxy}, auth: { file: DIR/two } }`),
    files: { two: "user:canary\nmore-canary\n" },
    path: `${path}.auth`,
    message: /not user:password/,
    fix: /one line/,
  },
  {
    what: "no such file",
    yaml: withEgress(`{ ${proxy}, auth: { file: DIR/none } }`),
    path: `${path}.auth`,
    message: /cannot be read \(ENOENT\)/,
    fix: /create the file/,
  },
  {
    what: "credentials written out",
    yaml: withEgress(`{ ${proxy}, auth: '${userInfo}' }`),
    path: `${path}.auth`,
    message: /never written into the configuration/,
    fix: /\{ file: /,
  },
  {
    what: "TLS files for http",
    yaml: withEgress(`{ ${proxy}, tls: { caFile: DIR/ca } }`),
    files: { ca: authority },
    path: `${path}.tls`,
    message: /http:\/\/ has no TLS/,
    fix: /https/,
  },
  {
    what: "a variable that is no address",
    yaml: withEgress("environment"),
    env: { HTTPS_PROXY: `socks5://${userInfo}@a:1` },
    path,
    message: /HTTPS_PROXY is not the address of an HTTP proxy/,
    fix: /percent-encoded/,
  },
  {
    what: "a variable with an entry that cannot be read",
    yaml: withEgress("environment"),
    env: { https_proxy: "a:1", no_proxy: "ok,10.0.0.*" },
    path,
    message: /no_proxy has an entry/,
    fix: /10\.0\.0\.0\/8/,
  },
];
itRefuses("an egress that cannot work", refusals);

test("two environments may share a proxy", async () => {
  const egress = "    egress: { proxy: 'http://proxy.example:3128' }\n";
  const both = edited([inSandbox, inSandbox + egress]) + production + egress;
  expect((await load(both)).config.environments.get("production")?.egress?.proxy.host).toBe("proxy.example");
});
