/** Sites with files of their own are read one by one; a bad file is refused alone. */
import { chmodSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeProblem } from "../../../src/config/diagnostics.ts";
import { readRegularFile } from "../../../src/config/files/file-system.ts";
import { createLoader, type Loaded } from "../../../src/config/load.ts";
import { PatchedMap } from "../../../src/model/patched-map.ts";
import { ConfigFolder, edited } from "../../../testkit/config-folder.ts";

const [one, two, three] = ["S1000000001", "S1000000002", "S1000000003"] as const;
const keyOf = (n: number, secret = `k${n}`) =>
  `keys: [ { identifier: K200000000${n}, secret: { file: ${secret} } } ]\n`;

const adopting = `${keyOf(3)}children: { ${two}: { ${keyOf(1).trim()} } }\n`;

const named = / {4}defaultSite: [\s\S]*$/;
const inFolder = (keys = "") => edited().replace(named, `    sites: { folder: sites.d }\n    ${keys}\n`);

describe("sites in a folder", () => {
  it("have the meaning of the same text below `sites`, child sites included", async () => {
    const { load } = stage({
      [`${one}.yaml`]: `credentials: [ { name: blue, dir: blue } ]\nchildren: { ${three}: {} }\n`,
      [`${two}.yaml`]: keyOf(1),
    });
    const { served, refused, sites, loaded } = await load();
    expect([served, refused]).toEqual([[one, three, two], []]);
    expect(sites.get(three)).toMatchObject({ parent: one, credentials: { owner: one } });
    expect(loaded.kind === "loaded" && loaded.config.environments.get("sandbox")).toMatchObject({
      defaultSite: undefined,
    });
  });

  it.each([
    ["text that is not YAML", `${one}.yaml`, "keys: [", /not valid YAML/],
    [
      "settings of the configuration",
      `${one}.yaml`,
      "authUrl: x",
      /it belongs at .*authUrl, which is not in this file/,
    ],
    [
      "itself as a key",
      `${one}.yaml`,
      `${one}: { keys: [] }`,
      /settings of S1000000001 alone: write them without S1000000001:/,
    ],
    ["keys given twice", `${one}.yaml`, "{ a: { b: 1, b: 2 }, a: 3 }", /key "b" is given twice.*key "a"/s],
    ["an unknown key", `${one}.yaml`, "kees: []", /there is no key kees here/],
    ["a secret that is missing", `${one}.yaml`, keyOf(9), /cannot be read \(ENOENT\)/],
    [
      "a folder that is missing",
      `${one}.yaml`,
      "credentials: [{ name: blue, dir: no }]",
      /there is no such folder; create it, or correct the path: \/.*\/no$/,
    ],
    ["nothing", `${one}.yaml`, "", /this is empty/],
    ["a name that is no site's", "shop.yaml", keyOf(1), /the file's name is no site's/],
    ["bytes that are no text", `${one}.yaml`, Buffer.from([0xff]), /not UTF-8/],
  ])("are served without a site whose file has %s", async (_, name, content, why) => {
    const { load } = stage({ [`${two}.yaml`]: keyOf(2), [name]: content });
    const result = await load();
    expect([result.served, result.refused]).toEqual([[two], [`${name} not served`]]);
    expect(result.why).toMatch(why);
    expect(result.why).toMatch(/^line 1, column \d+: /);
    expect(result.why).not.toContain("canary");
  });

  it("may end with .yml; one site in two files is refused in both", async () => {
    const { load, write } = stage({ [`${one}.yml`]: keyOf(1) });
    expect((await load()).served).toEqual([one]);
    const twice = await stage({ [`${one}.yml`]: keyOf(1), [`${one}.yaml`]: keyOf(1) }).load();
    expect(twice.served).toEqual([]);
    for (const other of [`${one}.yml`, `${one}.yaml`]) {
      expect(twice.why).toMatch(new RegExp(`the same site is at .*\\.sites\\.${one} in ${other}; keep one of the two`));
    }
    write("S1.yml", "keys: []");
    expect((await load()).why).toMatch(/environments\.sandbox\.sites\.S1\.keys: this is empty/);
  });

  it("keep the former content of a file that turned bad, until the file is sound again", async () => {
    const { load, write } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2) });
    const before = await load();
    write(`${one}.yaml`, "keys: [");
    const bad = await load([`sites.d/${one}.yaml`]);
    expect([bad.served, bad.refused]).toEqual([[one, two], [`${one}.yaml served as before`]]);
    expect(bad.sites.get(one)).toBe(before.sites.get(one));
    expect(bad.hash).not.toBe(before.hash);
    write(`${one}.yaml`, keyOf(3));
    const after = await load([`sites.d/${one}.yaml`]);
    expect([after.served, after.refused]).toEqual([[one, two], []]);
    expect(after.sites.get(one)?.keys[0]?.identifier).toBe("K2000000003");
  });

  it("keep the former content of a file that turned bad, also after a refused configuration with other settings", async () => {
    const { folder, load, write } = stage({ [`${one}.yaml`]: keyOf(1) });
    await load();
    write(`${one}.yaml`, "keys: []");
    const { sites } = await load();
    const configure = (yaml: string) => folder.write("countersign.yaml", yaml.replaceAll("DIR", folder.path));
    configure(inFolder("token: { scope: other }\nredis: { url: unix:/run/redis.sock }"));
    await expect(load()).rejects.toThrow("redis is not used");
    configure(inFolder());
    const back = await load();
    expect(back.refused).toEqual([`${one}.yaml served as before`]);
    expect(back.sites.get(one)).toBe(sites.get(one));
  });

  it("are read again with other settings of the environment, even if the folder could not be read at first", async () => {
    const { folder, load } = stage({ [`${one}.yaml`]: "credentials: [ { name: blue, dir: blue } ]" });
    await load();
    const [path, elsewhere] = [join(folder.path, "sites.d"), join(folder.path, "elsewhere")];
    renameSync(path, elsewhere);
    folder.write("countersign.yaml", inFolder("token: { scope: other }").replaceAll("DIR", folder.path));
    await expect(load()).rejects.toThrow("ENOENT");
    renameSync(elsewhere, path);
    expect((await load()).sites.get(one).credentials.sets[0].token.scope).toBe("other");
  });

  it("have the warnings of the last reading, also if only who may read a secret has changed", async () => {
    const { folder, load } = stage({ [`${one}.yaml`]: keyOf(1) });
    const mayAllRead = async (mode: number) => {
      chmodSync(join(folder.path, "k1"), mode);
      const { loaded } = await load();
      return loaded.kind === "loaded" && loaded.warnings.some(({ code }) => code === "secret_readable_by_all");
    };
    expect([await mayAllRead(0o600), await mayAllRead(0o644), await mayAllRead(0o600)]).toEqual([false, true, false]);
  });

  it("keep their keys although a later file claims one, whatever its name", async () => {
    const { load, write, remove } = stage({ [`${two}.yaml`]: keyOf(2) });
    await load();
    write(`${one}.yaml`, keyOf(2));
    const clash = await load([`sites.d/${one}.yaml`]);
    expect([clash.served, clash.refused]).toEqual([[two], [`${one}.yaml not served`]]);
    remove(`${two}.yaml`);
    const after = await load([`sites.d/${two}.yaml`]);
    expect([after.served, after.refused]).toEqual([[one], []]);
  });

  it.each([
    ["key", keyOf(2), keyOf(2), /the same key identifier is at .*\.sites\.S1000000002.* in S1000000002.yaml/],
    ["child", keyOf(1), `${keyOf(3)}children: { ${one}: { ${keyOf(2).trim()} } }\n`, /the same site is at/],
  ])("include neither of two new files with the same %s", async (_, first, second, why) => {
    const { load } = stage({ [`${one}.yaml`]: first, [`${two}.yaml`]: second, [`${three}.yaml`]: keyOf(4, "k3") });
    const result = await load();
    expect([result.served, result.refused]).toEqual([[three], [`${one}.yaml not served`, `${two}.yaml not served`]]);
    expect(result.why).toMatch(why);
    expect(result.why).toMatch(/^line 1, column \d+: /);
    expect(result.why).not.toContain("canary");
  });

  /** Both files are in force; the first one claims what is the second one's. */
  describe.each([
    ["key", keyOf(2)],
    ["site", adopting],
  ])("refuse a file that claims another file's %s, whatever happens to the other file then:", (_, claiming) => {
    const own = `${keyOf(2)}`;
    it.each([
      ["nothing", own],
      ["it gets a comment", `# a comment\n${own}`],
      ["it is half written", own.slice(0, 20)],
      ["it is written anew", `${own} `],
      ["another key is added", `${own.trim().slice(0, -1)}, { identifier: K2000000004, secret: { file: k3 } } ]\n`],
    ])("%s", async (_what, theirs) => {
      const { load, write } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: own });
      const before = await load();
      write(`${one}.yaml`, claiming);
      write(`${two}.yaml`, theirs);
      const { served, refused, sites } = await load();
      expect(served).toEqual([one, two]);
      expect(refused).toContain(`${one}.yaml served as before`);
      expect(sites.get(one)).toBe(before.sites.get(one));
      expect(sites.get(two)?.keys[0]).toEqual(before.sites.get(two)?.keys[0]);
      expect(sites.get(two)?.parent).toBe(undefined);
    });
  });

  it("let a key move from one file to another at once", async () => {
    const { load, write } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2) });
    await load();
    write(`${one}.yaml`, keyOf(2));
    write(`${two}.yaml`, keyOf(1));
    const { refused, sites } = await load();
    expect(refused).toEqual([]);
    expect(sites.get(one)?.keys[0]?.identifier).toBe("K2000000002");
  });

  it("let a file have what a refused file claims too", async () => {
    const { load, write } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2) });
    await load();
    // It claims a key in force, so its claim of the new site's key does not count.
    write(`${one}.yaml`, `${keyOf(2).trim().slice(0, -1)}, { identifier: K2000000003, secret: { file: k3 } } ]\n`);
    write(`${three}.yaml`, keyOf(3));
    const { served, refused } = await load();
    expect([served, refused]).toEqual([[one, two, three], [`${one}.yaml served as before`]]);
  });

  it("stay in force if their folder is empty at once, as after an unmount, and the folder is named", async () => {
    const { folder, load, remove, write } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2) });
    const before = await load();
    remove(`${one}.yaml`);
    remove(`${two}.yaml`);
    const emptied = await load();
    expect([emptied.served, emptied.refused]).toEqual([
      [one, two],
      [`${join(folder.path, "sites.d")}/ served as before`],
    ]);
    expect(emptied.why).toContain("the folder is empty");
    expect(emptied.sites.get(one)).toBe(before.sites.get(one));
    write(`${one}.yaml`, keyOf(1));
    const back = await load();
    expect([back.served, back.refused]).toEqual([[one], []]);
  });

  it.each([
    ["a site", (set: string) => set],
    ["a child", (set: string) => `${keyOf(1)}children: { ${three}: { ${set} } }`],
  ])("are refused alone if %s has credentials but the environment has no authUrl", async (_, around) => {
    const yaml = inFolder().replace(/ +authUrl: .*\n/, "");
    const { load } = stage(
      { [`${one}.yaml`]: around("credentials: [ { name: blue, dir: blue } ]"), [`${two}.yaml`]: keyOf(2) },
      yaml,
    );
    const { served, why } = await load();
    expect(served).toEqual([two]);
    expect(why).toMatch(/the environment has no authUrl/);
  });

  it("share nothing with another environment", async () => {
    const yaml = `${inFolder()}  production:
    baseUrl: https://api.example
    authUrl: https://login.example
    operations: [create_order]
    sites: { S2000000001: { ${keyOf(1).trim()} } }\n`;
    const { load } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2) }, yaml);
    const { served, why } = await load();
    expect(served).toEqual([two]);
    expect(why).toMatch(/the key identifier is also environment production's/);
  });

  it("are not read again, nor created again, when another site's file changes", async () => {
    const { load, write, read, remove } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2) });
    const before = await load();
    expect(read).toEqual(["countersign.yaml", `sites.d/${one}.yaml`, `sites.d/${two}.yaml`, "k1", "k2"]);
    write(`${two}.yaml`, `# the same\n${keyOf(2)}`);
    expect((await load([`sites.d/${two}.yaml`])).sites.get(two)).toBe(before.sites.get(two));
    write(`${two}.yaml`, `decimals: [fee]\n${keyOf(2)}`);
    const changed = await load([`sites.d/${two}.yaml`]);
    expect(read).toEqual(["countersign.yaml", `sites.d/${two}.yaml`, "k2"]);
    expect(changed.sites.get(one)).toBe(before.sites.get(one));
    write(`${three}.yaml`, keyOf(3));
    expect((await load([`sites.d/${three}.yaml`])).served).toEqual([one, two, three]);
    expect(read).toEqual(["countersign.yaml", `sites.d/${three}.yaml`, "k3"]);
    remove(`${two}.yaml`);
    const after = await load([`sites.d/${two}.yaml`]);
    expect([after.served, read]).toEqual([[one, three], ["countersign.yaml"]]);
    expect(after.sites.get(one)).toBe(before.sites.get(one));
  });

  it("are not copied when another site's file changes, and keep their order when one comes or goes", async () => {
    const { load, write, remove } = stage({ [`${one}.yaml`]: keyOf(1), [`${three}.yaml`]: keyOf(3) });
    const before = await load();
    const isShared = ({ sites }: Awaited<ReturnType<typeof load>>) =>
      PatchedMap.partsOf(sites).base === PatchedMap.partsOf(before.sites).base;
    write(`${three}.yaml`, `decimals: [fee]\n${keyOf(3)}`);
    const changed = await load([`sites.d/${three}.yaml`]);
    expect([isShared(changed), changed.sites.get(three)?.decimals]).toEqual([true, new Set(["fee"])]);
    expect(before.sites.get(three)?.decimals).toEqual(new Set());
    write(`${two}.yaml`, keyOf(2));
    expect((await load([`sites.d/${two}.yaml`])).served).toEqual([one, two, three]);
    remove(`${one}.yaml`);
    const after = await load([`sites.d/${one}.yaml`]);
    expect([after.served, isShared(after)]).toEqual([[two, three], false]);
  });

  it("are read again with another one that shows that a secret of both has changed", async () => {
    const { folder, load, write, read } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2, "k1") });
    await load();
    folder.write("k1", "canary-api-secret-key-of-both");
    write(`${one}.yaml`, `# a comment\n${keyOf(1)}`);
    const { sites } = await load([`sites.d/${one}.yaml`]);
    expect(read).toEqual(["countersign.yaml", `sites.d/${one}.yaml`, "k1", `sites.d/${two}.yaml`, "k1"]);
    expect(sites.get(two)?.keys[0]?.secret.reveal()).toBe("canary-api-secret-key-of-both");
  });

  it("are known by their new keys at once when these change", async () => {
    const { load, write } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2) });
    await load();
    write(`${two}.yaml`, keyOf(3));
    const { loaded } = await load([`sites.d/${two}.yaml`]);
    const { siteOfKey } =
      (loaded.kind === "loaded" && loaded.config.environments.get("sandbox")) || expect.unreachable();
    expect([...siteOfKey].map(([key, { identifier }]) => `${key} ${identifier}`)).toEqual([
      `K2000000001 ${one}`,
      `K2000000003 ${two}`,
    ]);
  });

  it("are found changed by their stamps if any file may have changed, as after SIGHUP or a swap of the whole folder", async () => {
    const { load, write, read, folder } = stage({ [`${one}.yaml`]: keyOf(1), [`${two}.yaml`]: keyOf(2) });
    await load();
    folder.write("k2", "canary-api-secret-key-four");
    const after = await load();
    expect(read).toEqual(["countersign.yaml", `sites.d/${two}.yaml`, "k2"]);
    write(`${one}.yaml`, `decimals: [fee]\n${keyOf(1)}`);
    expect((await load(["sites.d/"])).hash).not.toBe(after.hash);
    expect(read).toEqual(["countersign.yaml", `sites.d/${one}.yaml`, "k1"]);
  });

  it("that changed while the configuration was refused are read with the next sound one", async () => {
    const { folder, load, write } = stage({ [`${one}.yaml`]: keyOf(1) });
    await load();
    folder.write("countersign.yaml", "listeners: [");
    write(`${one}.yaml`, keyOf(2));
    await expect(load([`sites.d/${one}.yaml`])).rejects.toThrow(/not valid YAML/);
    folder.write("countersign.yaml", inFolder().replaceAll("DIR", folder.path));
    const { sites } = await load(["countersign.yaml"]);
    expect(sites.get(one)?.keys[0]?.identifier).toBe("K2000000002");
  });

  it("may be none; a default site without a file causes a warning", async () => {
    const { load } = stage({}, inFolder(`defaultSite: ${one}`));
    const { served, loaded } = await load();
    expect(served).toEqual([]);
    expect(loaded).toMatchObject({
      warnings: [{ code: "default_site_absent", path: ["environments", "sandbox", "defaultSite"] }],
    });
  });

  it.each([
    [{}, ["site_folder_empty"]],
    [{ [`${one}.txt`]: keyOf(1) }, ["site_folder_empty"]],
    [{ [`${one}.yaml`]: "kees: []" }, []],
  ])("cause a warning if there is none, and no file is refused: %j", async (files, codes) => {
    const { loaded } = await stage(files).load();
    expect(loaded.kind === "loaded" && loaded.warnings.map(({ code }) => code)).toEqual(codes);
  });

  it("have their token endpoints reached without the proxy if noProxy says so, also after a change", async () => {
    const asking = (host: string, keys = "") =>
      `credentials: [ { name: blue, dir: blue, token: { url: "https://${host}.example/token" } } ]\n${keys}`;
    const egress = 'egress: { proxy: "http://proxy.example:3128", noProxy: [ inner.example, later.example ] }';
    const yaml = inFolder(egress).replace(/ {4}authUrl: .*\n/, "");
    const { load, write } = stage({ [`${one}.yaml`]: asking("inner"), [`${two}.yaml`]: keyOf(2) }, yaml);
    const directOf = ({ loaded }: Awaited<ReturnType<typeof load>>) =>
      loaded.kind === "loaded" && [...(loaded.config.environments.get("sandbox")?.egress?.direct ?? [])];
    expect(directOf(await load())).toEqual(["https://inner.example"]);
    write(`${one}.yaml`, asking("later"));
    expect(directOf(await load([`sites.d/${one}.yaml`]))).toContain("https://later.example");
    // Refused for its key: the former version is still served, by its own token endpoint.
    write(`${one}.yaml`, asking("outer", keyOf(2)));
    const refused = await load([`sites.d/${one}.yaml`]);
    expect(refused.refused).toEqual([`${one}.yaml served as before`]);
    expect(directOf(refused)).toEqual(["https://later.example"]);
  });

  it("need a readable folder", async () => {
    const { load } = stage({}, inFolder().replace("sites.d", "nowhere"));
    await expect(load()).rejects.toThrow(/environments.sandbox.sites.folder.*the folder cannot be read \(ENOENT\)/);
  });
});

/** A loader of a configuration with these sites, and the names of all files that it reads. */
function stage(sites: Readonly<Record<string, string | Uint8Array>>, yaml = inFolder()) {
  const folder = new ConfigFolder({ k3: "canary-api-secret-key-three" });
  const file = folder.write("countersign.yaml", yaml.replaceAll("DIR", folder.path));
  const write = (name: string, content: string | Uint8Array) => folder.write(`sites.d/${name}`, content);
  folder.write("sites.d/.hidden.yaml", "");
  folder.write("sites.d/README", "");
  for (const [name, content] of Object.entries(sites)) write(name, content);
  const load = createLoader(file);
  const read: string[] = [];
  return {
    folder,
    read,
    write,
    remove: (name: string) => rmSync(join(folder.path, "sites.d", name)),
    /** @param changed names in the folder of the configuration */
    load: async (changed?: readonly string[]) => {
      read.length = 0;
      const loaded = await load({
        changed: changed && new Set(changed.map((name) => join(folder.path, name))),
        readFile: (path) => {
          read.push(path.slice(folder.path.length + 1));
          return readRegularFile(path);
        },
      });
      return sound(loaded);
    },
  };
}

function sound(loaded: Loaded) {
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  const environment = loaded.config.environments.get("sandbox");
  const refused = environment?.siteFolder?.refused ?? [];
  return {
    loaded,
    hash: loaded.config.hash,
    sites: environment?.sites ?? new Map(),
    served: [...(environment?.sites.keys() ?? [])],
    refused: refused.map(({ file, isServed }) => `${file} ${isServed ? "served as before" : "not served"}`),
    why: refused.flatMap(({ problems }) => problems.map(describeProblem)).join("\n"),
  };
}
