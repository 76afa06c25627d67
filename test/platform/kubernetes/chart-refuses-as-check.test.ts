import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { Charts } from "./charts.ts";
import { check } from "./fake-secrets.ts";
import { parse, podTemplateOf, sidecarOf } from "./manifests.ts";
import { withTools } from "./tools.ts";

// What values alone can tell, rendering refuses: exactly where `countersign check` refuses the same configuration.

const { isThere, named } = withTools("helm");
const test = it.runIf(isThere);
let charts: Charts;

beforeAll(() => {
  if (isThere) charts = new Charts();
});
afterAll(() => charts?.remove());

const sandbox = {
  baseUrl: "https://api.sandbox.example/json-api",
  authUrl: "https://login.sandbox.example",
  operations: ["create_order"],
  sites: { S1000000001: { credentials: [{ name: "blue", dir: "/run/secrets/countersign/blue" }] } },
};
const production = {
  ...sandbox,
  baseUrl: "https://api.example",
  authUrl: "https://login.example",
  sites: { S2: sandbox.sites.S1000000001 },
};
const sound = { environments: { sandbox }, tokens: { cache: "memory" } };
const own = {
  admin: { bind: ":7412" },
  status: { bind: "127.0.0.1:7413" },
  listeners: [{ bind: "127.0.0.1:7411", environment: "sandbox" }],
};

function refusal(values: object): string | undefined {
  const file = join(charts.folder, "values.yaml");
  writeFileSync(file, stringify({ secrets: [{ folder: "blue", secretName: "blue" }], ...values }));
  const { exitCode, stderr } = charts.refusal("countersign", ["--values", file]);
  return exitCode === 0 ? undefined : stderr;
}

const inSandbox = (change: object) => ({ environments: { sandbox: { ...sandbox, ...change } } });
const listeners = (...binds: readonly string[]) => ({
  listeners: binds.map((bind) => ({ bind, environment: "sandbox" })),
});
const open = (...binds: readonly string[]) => ({
  listeners: binds.map((bind) => ({ bind, environment: "sandbox", callers: "anyone" })),
});
const https = "to an https:// address, or allowPlaintext: true for tests";
const request = "set config.timeouts.request to a duration from 100ms to 600s, not";
const callers = "set callers of config.listeners[0], which more than this pod can reach";
const port = "a port of its own";

describe("refuses what check refuses, and nothing else", () => {
  test.each<{ change: object; says?: string }>([
    { change: {} },
    { change: inSandbox({ baseUrl: "http://api.sandbox.example" }), says: `sandbox.baseUrl ${https}` },
    { change: inSandbox({ authUrl: "http://login.sandbox.example" }), says: `sandbox.authUrl ${https}` },
    { change: inSandbox({ baseUrl: "http://api.sandbox.example", allowPlaintext: true }) },
    { change: { timeouts: { request: "30m" } }, says: `${request} 30m` },
    { change: { timeouts: { request: "601s" } }, says: `${request} 601s` },
    { change: { timeouts: { request: "99ms" } }, says: `${request} 99ms` },
    { change: { timeouts: { request: "0s" } }, says: `${request} 0s` },
    { change: { timeouts: { request: "10m", connect: "10ms", token: "60s" } } },
    { change: { timeouts: { request: "100ms" } } },
    { change: { timeouts: { connect: "9ms" } }, says: "config.timeouts.connect to a duration from 10ms to 60s" },
    { change: { timeouts: { token: "2m" } }, says: "config.timeouts.token to a duration from 10ms to 60s" },
    {
      change: { reload: { unreadyAfterRefusal: "500ms" } },
      says: "unreadyAfterRefusal to a duration from 1s to 3600s",
    },
    { change: { reload: { unreadyAfterRefusal: "1h" } } },
    { change: listeners(":7411"), says: `${callers} (:7411)` },
    { change: listeners("0.0.0.0:7411"), says: callers },
    { change: listeners("[::]:7411"), says: callers },
    { change: listeners("orders:7411"), says: callers },
    { change: listeners("127.example.com:7411"), says: callers },
    { change: listeners("127.0.0.1:7411", "[::1]:7411", "localhost:7421", "127.1.2.3:7411", "[0::1]:7431") },
    { change: open(":7411") },
    {
      change: open(":7411", "127.0.0.1:7411"),
      says: `config.listeners[1] ${port}: config.listeners[0] listens on 7411`,
    },
    { change: listeners("localhost:7411", "127.0.0.1:7411"), says: `config.listeners[1] ${port}` },
    { change: listeners("127.0.0.1:7412"), says: `${port}: the admin port listens on 7412` },
    { change: listeners("[::1]:7413"), says: `${port}: the status port listens on 7413` },
    { change: listeners("127.0.0.1:0", "127.0.0.1:0") },
    { change: { tokens: { cache: "redis" } }, says: "set config.redis, which config.tokens.cache: redis needs" },
  ])(named("$change"), ({ change, says }) => {
    const config = { ...sound, ...change };
    const verdict = check(stringify({ ...own, ...config }));
    const refused = refusal({ config });
    expect([verdict.valid, refused === undefined], JSON.stringify([verdict.problems, refused])).toEqual(
      says === undefined ? [true, true] : [false, false],
    );
    expect(refused ?? "").toContain(says ?? "");
  });

  test(named("two environments on one port of two addresses"), () => {
    const config = {
      ...sound,
      environments: { sandbox, production },
      listeners: [
        { bind: "127.0.0.1:7411", environment: "sandbox" },
        { bind: "[::1]:7411", environment: "production" },
      ],
    };
    expect(check(stringify({ ...own, ...config }))).toMatchObject({ valid: false });
    expect(refusal({ config })).toContain(`config.listeners[1] ${port}`);
  });
});

describe("refuses files that no volume of the chart has", () => {
  const dir = (path: string) => {
    return inSandbox({ sites: { S1: { credentials: [{ name: "a", dir: path }] } } });
  };
  const file = (path: string) => {
    return inSandbox({ sites: { S1: { keys: [{ identifier: "K1", secret: { file: path } }] } } });
  };
  const tls = (change: object) => inSandbox({ tls: change });
  const mounts = (...paths: readonly string[]) => ({
    extraVolumeMounts: paths.map((mountPath, index) => ({ name: `more-${index}`, mountPath })),
  });

  test.each<{ what: string; config: object; values?: object; path?: string }>([
    { what: "a folder of another name", config: dir("/run/secrets/countersign/green"), path: "countersign/green of" },
    { what: "a folder beside the mounted ones", config: dir("/run/secrets/countersign"), path: "countersign of" },
    { what: "a folder that only begins alike", config: dir("/run/secrets/countersign/blue-2"), path: "blue-2 of" },
    { what: "a file", config: file("/run/secrets/countersign/keys/K1"), path: "keys/K1 of" },
    { what: "a way out of a mounted folder", config: dir("/run/secrets/countersign/blue/../green"), path: "green of" },
    { what: "a file beside countersign.yaml", config: file("K1"), path: "/etc/countersign/K1 of" },
    {
      what: "a certificate",
      config: tls({ certFile: "/run/secrets/countersign/blue/tls.crt", keyFile: "/tls/tls.key" }),
      path: "/tls/tls.key of",
    },
    {
      what: "a Unix socket",
      config: listeners("unix:/run/countersign/app.sock"),
      path: "/run/countersign/app.sock of",
    },
    { what: "nothing where all is mounted", config: dir("/run/secrets/countersign/blue/") },
    { what: "nothing of the image's authorities", config: tls({ caFile: "/etc/ssl/certs/ca-certificates.crt" }) },
    { what: "nothing of extra mounts", config: dir("/vault/blue"), values: mounts("/cache", "/vault/") },
    {
      what: "no socket in an extra mount",
      config: listeners("unix:/run/countersign/app.sock"),
      values: mounts("/run/countersign"),
    },
  ])(named("$what"), ({ config, values = {}, path }) => {
    const refused = refusal({ config: { ...sound, ...config }, ...values });
    if (path === undefined) expect(refused).toBeUndefined();
    else
      expect(refused).toMatch(new RegExp(`  mount what \\S*${path} the configuration is in: by an entry of secrets`));
  });

  test(named("of a gateway's callers, too"), () => {
    const tokens = [{ file: "/run/secrets/countersign/callers/shop" }];
    const gateway = { listeners: [{ environment: "sandbox", port: 7411, callers: { tokens } }] };
    const values = { mode: "gateway", config: sound, gateway };
    expect(refusal(values)).toContain("mount what /run/secrets/countersign/callers/shop of the configuration");
    const secrets = ["blue", "callers"].map((folder) => ({ folder, secretName: folder }));
    expect(refusal({ ...values, secrets })).toBeUndefined();
  });
});

test(named("refuses a grace period that Countersign may need longer than"), () => {
  const gateway = { listeners: [{ environment: "sandbox", port: 7411, callers: "anyone" }] };
  const seconds = (terminationGracePeriodSeconds: number) =>
    refusal({ mode: "gateway", config: sound, gateway: { ...gateway, terminationGracePeriodSeconds } });
  expect(seconds(31)).toContain("set gateway.terminationGracePeriodSeconds to at least 32");
  expect(seconds(32)).toBeUndefined();
});

test(named("leaves user and groups to the cluster where it is told to, as OpenShift wants it"), () => {
  const args = ["--set", "countersign.securityContext.runAsUser=null"];
  for (const object of parse(charts.render("example-app", args))) {
    const pod = podTemplateOf(object);
    if (pod === undefined) continue;
    expect(JSON.stringify(pod)).not.toMatch(/runAsUser|runAsGroup|fsGroup/);
    expect(sidecarOf(pod).securityContext).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
  }
});
