/** The other side of refuses-token-settings-that-cannot-work: what is meant to work, and which setting wins. */
import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type CredentialSet, credentialSetsOf, tokenUrlOf } from "../../../src/model/environment.ts";
import { clientCertificate, clientKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited } from "../../../testkit/config-folder.ts";
import { authUrl, blue } from "./refusal.ts";

async function load(environment: string, sets: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const folder = new ConfigFolder(files);
  const lines = sets.map((set) => `          - { ${set} }\n`).join("");
  const loaded = await folder.loadSound(
    edited([authUrl, environment === "" ? "" : `    ${environment}\n`], [blue, lines]),
  );
  const sandbox = loaded.config.environments.get("sandbox") ?? expect.unreachable();
  const urlOf = (set: CredentialSet) => `${tokenUrlOf(sandbox, set).origin}${tokenUrlOf(sandbox, set).path}`;
  const loadedSets = credentialSetsOf(sandbox).map(({ set }) => ({ ...set, url: urlOf(set) }));
  return { sets: loadedSets, files: loaded.files, folder };
}

const secret = "clientSecret: { file: DIR/green }";

describe("token settings", () => {
  test("are none where none are written", async () => {
    const { sets } = await load("authUrl: https://login.sandbox.example", ["name: blue, dir: DIR/blue"]);
    expect(sets).toMatchObject([{ token: undefined, url: "https://login.sandbox.example/oauth/token" }]);
  });

  test("of a set replace the environment's key by key, and an endpoint of each set needs no authUrl", async () => {
    const one = `name: one, clientId: a, ${secret}, token: { url: "https://one.example/t", scope: c, extra: { z: "1" } }`;
    const two = 'name: two, clientId: b, clientSecret: { file: DIR/main }, token: { url: "https://two.example/t/" }';
    const { sets } = await load("token: { scope: a b, body: json, extra: { x: y } }", [one, two]);
    expect(sets).toMatchObject([
      { url: "https://one.example/t", token: { scope: "c", body: "json", extra: { z: "1" } } },
      { url: "https://two.example/t/", token: { scope: "a b", body: "json", extra: { x: "y" } } },
    ]);
  });
});

describe("the audience", () => {
  const token = (more = "") => `token: { url: "https://login.example/token"${more} }`;

  test.each([
    ["may be left out with an endpoint", token(), `name: a, clientId: a, ${secret}`, undefined],
    ["is that of the settings", token(", audience: all"), `name: a, clientId: a, ${secret}`, "all"],
    ["of a set goes before it", token(", audience: all"), `name: a, clientId: a, ${secret}, audience: own`, "own"],
    ["of a folder goes before it", token(", audience: all"), "name: a, dir: DIR/blue", "https://api.sandbox.example"],
    ["need not be in a folder", token(), "name: a, dir: DIR/bare", undefined],
  ])("%s", async (_, environment, set, audience) => {
    const { sets } = await load(environment, [set], {
      "bare/client-id": "bare-id",
      "bare/client-secret": "canary-of-good-length",
    });
    expect(sets.map((each) => each.audience)).toEqual([audience]);
  });

  test("that comes into a folder later is noticed, since the watch knows of the file", async () => {
    const bare = { "bare/client-id": "bare-id", "bare/client-secret": "canary-of-good-length" };
    const { files, folder } = await load(token(), ["name: a, dir: DIR/bare"], bare);
    expect([...files.keys()]).toContain(`${folder.path}/bare/audience`);
  });
});

test("a folder's key is in its file private-key", async () => {
  const files = { "keyed/client-id": "keyed-id", "keyed/private-key": clientKey, "keyed/audience": "a" };
  const environment = "authUrl: https://login.sandbox.example\n    token: { clientAuth: private_key_jwt }";
  const { sets } = await load(environment, ["name: a, dir: DIR/keyed"], files);
  expect(sets).toMatchObject([
    {
      clientSecret: undefined,
      token: {
        clientAuth: {
          method: "private_key_jwt",
          algorithm: "ES256",
          audience: "https://login.sandbox.example/oauth/token",
        },
      },
    },
  ]);
});

test("each way has the environment's certificate, since a server may bind tokens to it", async () => {
  const files = { "keyed/client-id": "keyed-id", "keyed/private-key": clientKey, "keyed/audience": "a" };
  const tls = "tls: { certFile: DIR/cert.pem, keyFile: DIR/key.pem }";
  const environment = `authUrl: https://login.sandbox.example\n    token: { clientAuth: private_key_jwt }\n    ${tls}`;
  const { sets } = await load(environment, ["name: a, dir: DIR/keyed"], {
    ...files,
    ...{ "cert.pem": clientCertificate, "key.pem": clientKey },
  });
  const { fingerprint256: certificate } = new X509Certificate(clientCertificate);
  expect(sets).toMatchObject([{ token: { clientAuth: { method: "private_key_jwt" }, certificate } }]);
});

describe("an assertion's file (row 100)", () => {
  const environment = 'token: { url: "https://login.example/token", clientAuth: { assertion: { file: run/token } } }';
  const set = "name: a, clientId: system:serviceaccount:payments:countersign";

  test("is found from the configuration's folder, and need not be there", async () => {
    const { sets, files, folder } = await load(environment, [set]);
    const file = `${folder.path}/run/token`;
    expect(sets).toMatchObject([{ clientSecret: undefined, token: { clientAuth: { method: "assertion", file } } }]);
    expect([...files.keys()]).not.toContain(file);
  });

  test("is no part of a set's folder", async () => {
    const { sets } = await load(environment, ["name: a, dir: DIR/bare"], { "bare/client-id": "bare-id" });
    expect(sets).toMatchObject([{ clientId: "bare-id", clientSecret: undefined }]);
  });

  test("is told of where it is mounted by itself, and would never be renewed", async () => {
    const folder = new ConfigFolder();
    const mountPoints = new Set([`${folder.path}/run/token`]);
    const yaml = edited([authUrl, `    ${environment}\n`], [blue, `          - { ${set} }\n`]);
    const { warnings } = await folder.loadSound(yaml, { mountPoints });
    const [{ path } = {}] = warnings.filter(({ code }) => code === "mounted_by_subpath");
    expect(path).toBe("environments.sandbox.token.clientAuth.assertion.file");
  });
});
