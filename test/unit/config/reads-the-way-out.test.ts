/** Row 78: what an environment says of its way out, and what is refused and warned of. */
import { describe, expect, test } from "vitest";
import { explain, routes } from "../../../src/config/explain.ts";
import type { Loaded } from "../../../src/config/load.ts";
import { authority } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production, sound } from "../../../testkit/config-folder.ts";
import { fault, inSandbox, itRefuses, operations } from "./refusal.ts";

const withEgress = (egress: string) => inSandbox(`egress: ${egress}`);
const userInfo = "canary-user:canary-proxy-password";
const inVariable = `http://${userInfo}@proxy.example:3128`;
type Sound = Extract<Loaded, { kind: "loaded" }>;

async function load(yaml: string, env: Record<string, string> = {}): Promise<Sound> {
  const folder = new ConfigFolder({ auth: `${userInfo}\n`, ca: authority });
  const loaded = await folder.loadSound(yaml, { env });
  expect(JSON.stringify([explain(loaded.config), loaded.warnings, routes(loaded.config)])).not.toContain("canary");
  return loaded;
}

const egressOf = ({ config }: Sound) => config.environments.get("sandbox")?.egress;

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

  test("environment takes the lower case where that is all there is, and empty variables for none", async () => {
    const env = { HTTPS_PROXY: "", https_proxy: "proxy.example:3128", NO_PROXY: " ", no_proxy: "api.sandbox.example" };
    const egress = egressOf(await load(withEgress("environment"), env));
    expect(egress).toMatchObject({ proxy: { origin: "http://proxy.example:3128" }, credentials: undefined });
    expect([...(egress?.direct ?? [])]).toEqual(["https://api.sandbox.example"]);
  });
});

const proxy = "proxy: 'http://proxy.example:3128'";
const wrong = (egress: string, said: string, files = {}, env = {}) =>
  fault(withEgress(egress), `.egress${said}`, files, env);
const ofVariables = (env: Record<string, string>, said: string) => wrong("environment", said, {}, env);

itRefuses("an egress that cannot work", [
  ofVariables({ ALL_PROXY: inVariable, HTTP_PROXY: inVariable }, ": HTTPS_PROXY is not set … set it, or remove egress"),
  wrong("system", ": not known … write environment or { proxy"),
  wrong("{ noProxy: [a] }", ".proxy: proxy is missing … http://proxy.example:3128"),
  wrong("{ proxy: 'socks5://a:1080' }", ".proxy: cannot be read … SOCKS"),
  wrong(`{ proxy: '${inVariable}' }`, ".proxy: stand in a file … auth: { file"),
  wrong(`{ ${proxy}, noProxy: ['10.0.0.*'] }`, ".noProxy[0]: cannot be read … 10.0.0.0/8"),
  wrong(`{ ${proxy}, auth: { file: DIR/only } }`, ".auth: not user:password … one line", {
    only: "canary-proxy-password",
  }),
  wrong(`{ ${proxy}, auth: { file: DIR/two } }`, ".auth: not user:password … one line", {
    two: "user:canary\nmore-canary\n",
  }),
  wrong(`{ ${proxy}, auth: { file: DIR/none } }`, ".auth: cannot be read (ENOENT) … create the file"),
  wrong(`{ ${proxy}, auth: '${userInfo}' }`, ".auth: never written into the configuration … { file: "),
  wrong(`{ ${proxy}, tls: { caFile: DIR/ca } }`, ".tls: http:// has no TLS … https", {
    ca: authority,
  }),
  wrong(
    "environment",
    ": HTTPS_PROXY is not the address of an HTTP proxy … percent-encoded",
    {},
    { HTTPS_PROXY: `socks5://${userInfo}@a:1` },
  ),
  ofVariables({ https_proxy: "a:1", no_proxy: "ok,10.0.0.*" }, ": no_proxy has an entry … 10.0.0.0/8"),
]);

test("two environments may share a proxy", async () => {
  const egress = "    egress: { proxy: 'http://proxy.example:3128' }\n";
  const both = edited([operations, operations + egress]) + production + egress;
  expect((await load(both)).config.environments.get("production")?.egress?.proxy.host).toBe("proxy.example");
});
