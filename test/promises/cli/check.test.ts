import { execFileSync } from "node:child_process";
import { openSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCommands } from "../../../src/cli/program.ts";
import { ConfigFolder, canaries, edited, sound } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { plainEnvironment, runCommand, runSync } from "../../../testkit/run-program.ts";

// The command line as scripts and people use it: exit codes, standard output and error, and no secret in them.
// The command is the built one (build-once.ts).

/** A file as it would be deployed, with secrets in files beside it. */
const write = (yaml: string) => new ConfigFolder().writeYaml(yaml);

const check = (file: string, ...more: readonly string[]) => run(["check", "--config", file, ...more]);

const credentials = "credentials:\n          - { name: blue, dir: DIR/blue }\n";

/** Well formed, with three faults of meaning. */
const faulty = sound
  .replace("defaultSite: S1000000001", "defaultSite: S4")
  .replace("secret: { file: DIR/k1 }", "secret: { file: DIR/nothing }")
  .replace('"127.0.0.1:7411"', '":7411"');
/** The same configuration, with two faults of form as well. */
const misshapen = faulty
  .replace("secret: { file: DIR/nothing }", "secret: canary-written-out")
  .replace("operations: [create_order]", "operations: create_order");

describe("check", () => {
  it("refuses a pipe as a secret's file without waiting for it; the configuration may be a pipe, but not for serve, which reads it again", async () => {
    const pipe = join(new ConfigFolder().path, "pipe");
    execFileSync("mkfifo", [pipe]);
    const stderr = expect.stringContaining("the file cannot be read (no regular file)");
    expect(await check(write(sound.replace("DIR/k1", pipe)))).toMatchObject({ exitCode: 2, stderr });
    for (const more of [[], ["--json"]]) {
      const writing = writeFile(pipe, sound.replaceAll("DIR", new ConfigFolder().path));
      expect(await check(pipe, ...more)).toMatchObject({ exitCode: 0, stderr: "" });
      await writing;
    }
    const unread = { exitCode: 2, stderr: expect.stringContaining("cannot be read (no regular file)") };
    expect(await run(["serve", "--config", pipe])).toMatchObject(unread);
  });

  it("prints a sound configuration in its active form, the route of each listener, and each warning with its code", async () => {
    const file = write(sound);
    const { stdout, ...ended } = await check(file, "--print");
    expect(ended).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain("baseUrl: https://api.sandbox.example/json-api");
    expect(stdout).toMatch(/secret:\n +file: \/.*\/k1\n/);
    expect(stdout).toContain(
      "ok  127.0.0.1:7411 leads to sandbox: https://api.sandbox.example/json-api (create_order)",
    );
    expect(stdout).toContain(`\n1 warning\n${file}:15:7  environments.sandbox.sites.S1000000003: new clients must`);
    expect(stdout).toContain("\n    code   hmac_for_existing_clients\n");
  });

  it("says in two lines that a configuration with one listener is sound", async () => {
    const file = write(sound.replace(/ {6}S1000000003:(\n {8}.*)+/, ""));
    const { exitCode, stdout } = await check(file);
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      `ok  127.0.0.1:7411 leads to sandbox: https://api.sandbox.example/json-api (create_order)
ok  ${file} is valid
`,
    );
  });

  it("lists acknowledged warnings in one quiet line", async () => {
    const file = write(`${sound}acknowledge: [hmac_for_existing_clients]\n`);
    const { exitCode, stdout } = await check(file);
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("warning");
    expect(stdout).toContain("\nacknowledged: hmac_for_existing_clients (environments.sandbox.sites.S1000000003)\n");
    const json = JSON.parse((await check(file, "--json")).stdout);
    expect(json).toMatchObject({ warnings: [], acknowledged: [{ code: "hmac_for_existing_clients", line: 15 }] });
  });

  it("gives programs the same as JSON", async () => {
    const { stdout, ...ended } = await check(write(sound), "--json");
    expect(ended).toEqual({ exitCode: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      valid: true,
      hash: expect.stringMatching(/^[0-9a-f]{12}$/),
      routes: [expect.stringContaining("leads to sandbox")],
      warnings: [{ path: "environments.sandbox.sites.S1000000003", line: 15 }],
      configuration: { environments: { sandbox: { defaultSite: "S1000000001" } } },
    });
  });

  it.each([
    {
      what: "problem",
      yaml: faulty,
      lines: [
        /:2:7 {2}listeners\[0\]\.bind: every client that reaches this/,
        /:10:5 {2}environments\.sandbox\.defaultSite: there is no such site$/,
        /:17:40 {2}environments\..*\.keys\[0\]\.secret: the file cannot be read \(ENOENT\)/,
      ],
    },
    {
      what: "problem of form, before it checks anything else,",
      yaml: misshapen,
      rest: " Files and references are checked once these are mended.",
      lines: [
        /:9:5 {2}environments\.sandbox\.operations: this must be a list$/,
        /:17:40 {2}environments\..*\.keys\[0\]\.secret: a secret is never/,
      ],
    },
  ])("prints every $what with its line and its fix to standard error", async ({ yaml, lines, rest = "" }) => {
    const file = write(yaml);
    const { stderr, ...ended } = await check(file);
    expect(ended).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr.split("\n").filter((line) => !line.startsWith("    "))).toEqual([
      ...lines.map((line) => expect.stringMatching(`^${file}${line.source}`)),
      "",
      `${lines.length} problems; nothing was started.${rest}`,
      "",
    ]);
    expect(stderr.match(/^ {4}fix {4}\S/gm)).toHaveLength(lines.length);
  });

  it("gives programs every problem as JSON", async () => {
    const { stdout, ...ended } = await check(write(faulty), "--json");
    expect(ended).toEqual({ exitCode: 2, stderr: "" });
    const { valid, problems } = JSON.parse(stdout);
    expect(valid).toBe(false);
    expect(problems.map(({ path, line }: { path: string; line: number }) => `${line} ${path}`)).toEqual([
      "2 listeners[0].bind",
      "10 environments.sandbox.defaultSite",
      "17 environments.sandbox.sites.S1000000003.keys[0].secret",
    ]);
  });

  it("names a configuration file that does not exist", async () => {
    const { exitCode, stderr } = await check("nothing.yaml");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("nothing.yaml  the configuration file cannot be read (ENOENT): /");
    expect(stderr).toContain("1 problem; nothing was started.");
  });

  it("refuses a process that does not verify TLS", async () => {
    const { exitCode, stderr } = await run(["check", "--config", write(sound)], { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    expect(exitCode).toBe(2);
    expect(stderr).toContain("NODE_TLS_REJECT_UNAUTHORIZED=0 turns TLS verification off");
  });
});

describe("serve", () => {
  it("opens no port with a configuration that is refused", async () => {
    // A port that is taken: if `serve` tried to listen there, the message would say so.
    const port = await listen(createServer());
    const withPort = sound.replace("127.0.0.1:7411", `127.0.0.1:${port}`);
    const refused = await run(["serve", "--config", write(withPort.replace("DIR/k1", "DIR/nothing"))]);
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(refused.stderr).toContain("the file cannot be read (ENOENT)");
    expect(refused.stderr).toMatch(/1 problem; nothing was started\.\n$/);
    expect(refused.stderr).not.toContain("cannot listen");

    const sameButSound = await run(["serve", "--config", write(withPort)]);
    expect(sameButSound).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("cannot listen") });
  });

  it.each([
    ["203.0.113.9:7411", /which is no address of this machine \(EADDRNOTAVAIL\); name one of its own\./],
    ["no-such-host.invalid:7411", /a name that cannot be resolved \((ENOTFOUND|EAI_AGAIN)\); name an address\./],
    ["unix:/nowhere/app.sock", /whose folder does not exist \(ENOENT\); create it, or name another\./],
  ])("says that it cannot listen at %s, by which setting, and what to do", async (bind, why) => {
    const yaml = sound
      .replace('"127.0.0.1:7411"', `"${bind}"`)
      .replace("environment: sandbox }", "environment: sandbox, callers: anyone }");
    const { exitCode, stderr } = await run(["serve", "--config", write(yaml)]);
    expect(stderr).toMatch(why);
    expect(stderr).toContain(`Countersign cannot listen: listeners[0].bind is ${bind}, `);
    expect(exitCode).toBe(2);
  });
});

it("schema prints the JSON Schema", async () => {
  const { stdout, ...ended } = await run(["schema"]);
  expect(ended).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    required: ["listeners", "admin", "environments"],
  });
});

describe("every command", async () => {
  const commands = await createCommands();
  const names = commands.map((command) => command.name());

  it.each(names)("%s explains itself with --help", async (name) => {
    const { stdout, ...ended } = await run([name, "--help"]);
    expect(ended).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain(`Usage: countersign ${name}`);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    // The npm package has no documents.
    expect(stdout).not.toMatch(/(?<!\/)docs\//);
  });

  it('is listed by --help, which also explains "spec 5.2"', async () => {
    const { exitCode, stdout } = await run(["--help"]);
    expect(exitCode).toBe(0);
    for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
    expect(stdout).toMatch(/^"spec 5\.2" is a section of\nhttps:\/\/\S+\/docs\/service-interface\.md$/m);
  });

  it.each(names)("%s refuses an option that it does not have", async (name) => {
    const stderr = expect.stringContaining("--nonsense");
    expect(await run([name, "--nonsense"])).toEqual({ exitCode: 2, stdout: "", stderr });
  });

  const misspelt = commands.flatMap((command) =>
    command.options.slice(0, 1).map(({ long }) => {
      return { name: command.name(), long: `${long}`, typed: `${long}`.replace(/.(?=.$)/, "") };
    }),
  );
  it.each(misspelt)("$name suggests $long for $typed", async ({ name, long, typed }) => {
    const stderr = `error: unknown option '${typed}'\n(Did you mean ${long}?)\n`;
    expect(await run([name, typed, "x"])).toMatchObject({ exitCode: 2, stderr });
  });
});

it.each([
  { args: ["--help"], exitCode: 0, stdout: /Usage: countersign/, stderr: /^$/ },
  { args: ["--version"], exitCode: 0, stdout: /^\d+\.\d+\.\d+/, stderr: /^$/ },
  { args: [], exitCode: 2, stdout: /^$/, stderr: /Usage: countersign/ },
  { args: ["nonsense"], exitCode: 2, stdout: /^$/, stderr: /unknown command 'nonsense'/ },
  { args: ["reload", "--help"], exitCode: 2, stdout: /^$/, stderr: /unknown command 'reload'/ },
  { args: ["help", "chek"], exitCode: 2, stdout: /^$/, stderr: /unknown command 'chek'\n\(Did you mean check\?\)/ },
  { args: ["constructor"], exitCode: 2, stdout: /^$/, stderr: /unknown command 'constructor'/ },
  {
    args: ["check", "a.yaml"],
    exitCode: 2,
    stdout: /^$/,
    stderr: /too many.*\nA configuration is named by --config\.\n$/,
  },
  { args: ["schema", "a.yaml"], exitCode: 2, stdout: /^$/, stderr: /too many arguments[^\n]*\n$/ },
  { args: ["--nonsense"], exitCode: 2, stdout: /^$/, stderr: /unknown option '--nonsense'/ },
  {
    args: ["simulate", "--api-port", "x"],
    exitCode: 2,
    stdout: /^$/,
    stderr: /is invalid\. A whole number is needed\.\n$/,
  },
  { args: ["doctor"], exitCode: 2, stdout: /^$/, stderr: /^countersign\.yaml {2}.*cannot be read \(ENOENT\)/ },
  {
    args: ["doctor"],
    env: { COUNTERSIGN_CONFIG: "" },
    exitCode: 2,
    stdout: /^$/,
    stderr: /from env 'COUNTERSIGN_CONFIG' is invalid\. It is empty; name a file\.\n$/,
  },
])("countersign $args ends with $exitCode", async ({ args, env, exitCode, stdout, stderr }) => {
  const said = { stdout: expect.stringMatching(stdout), stderr: expect.stringMatching(stderr) };
  expect(await run(args, env)).toEqual({ exitCode, ...said });
});

it("ends quietly with 0 when its reader has seen enough", () => {
  const pipeline = `"${process.execPath}" dist/main.js schema | head -n 1; exit "\${PIPESTATUS[0]}"`;
  expect(runSync("bash", ["-c", pipeline])).toEqual({ exitCode: 0, stdout: "{\n", stderr: "" });
});

it("token names the file of an assertion that is absent, and what to see to", async () => {
  const yaml = edited([
    "    operations:",
    "    token: { clientAuth: { assertion: { file: DIR/nope } } }\n    operations:",
  ]);
  const { exitCode, stdout } = await run(["token", "--config", write(yaml)]);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/: no token was requested .*\n {5}fix {2}see what renews .*nope: the kubelet/);
});

it("ends with 2 also if the reason cannot be written", () => {
  const stdio = ["ignore", "ignore", openSync("/dev/full", "w")] as const;
  expect(runSync(process.execPath, ["dist/main.js", "nonsense"], { stdio: [...stdio] }).exitCode).toBe(2);
});

it.each([
  [
    "names those that are configured",
    sound,
    "No credential set matches --environment nope. Configured: --environment sandbox --site S1000000001.",
  ],
  [
    "says that none is configured",
    edited([credentials, "keys: [ { identifier: K1, secret: { file: DIR/k1 } } ]\n"]),
    "No credential set is configured.",
  ],
])("token, for a set that is not configured, requests nothing and %s", async (_, yaml, says) => {
  const { exitCode, stderr } = await run(["token", "--config", write(yaml), "--environment", "nope"]);
  expect(exitCode).toBe(2);
  expect(stderr).toBe(`${says}\n`);
});

it("token says which server could not be reached, and where to look", async () => {
  const port = await freePort();
  const yaml = edited(["https://login.sandbox.example", `https://127.0.0.1:${port}`]);
  const { exitCode, stdout } = await run(["token", "--config", write(yaml)]);
  expect(exitCode).toBe(1);
  const fix = "see that it is up, and that host and port in environments.sandbox.authUrl are right";
  expect(stdout).toContain(`: https://127.0.0.1:${port}: connections are refused (ECONNREFUSED)\n     fix  ${fix}\n`);
});

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const ended = await runCommand(args, plainEnvironment(env));
  for (const secret of [...Object.values(canaries), "canary"]) expect(JSON.stringify(ended)).not.toContain(secret);
  return ended;
}
