/** Row 60: tokens and certificates of callers are read and checked before anything listens. */
import { describe, expect, test } from "vitest";
import { authority, clientKey, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production } from "../../../testkit/config-folder.ts";
import { itRefuses, listener, type Refusal } from "./refusal.ts";

const calledBy = (callers: string, bind = '":7411"') =>
  `  - { bind: ${bind}, environment: sandbox, callers: ${callers} }\n`;
const byToken = calledBy("{ tokens: [ { file: DIR/main } ] }");
const withMtls = "{ mtls: { caFile: ca, certFile: cert, keyFile: key } }";
const pem = { ca: authority, cert: serverCertificate, key: serverKey };
const instead = (lines: string) => edited([listener, lines]);

async function load(yaml: string, files: Readonly<Record<string, string>> = {}) {
  const folder = new ConfigFolder();
  for (const [name, content] of Object.entries({ ...pem, ...files })) folder.write(name, content);
  const loaded = await folder.load(yaml, { env: { OLD: "canary-old-token", NEW: "canary-new-token-0" } });
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  expect(JSON.stringify(loaded)).not.toContain("canary");
  const ofListeners = loaded.warnings.filter(({ path }) => path.startsWith("listeners"));
  const others = ofListeners.filter(({ code }) => code !== "callers_without_rights");
  return {
    config: loaded.config,
    warnings: others.map(({ path, message }) => `${path}: ${message}`),
    former: ofListeners.filter((warning) => !others.includes(warning)),
  };
}

test.each([
  [
    "{ tokens: [ { file: DIR/main } ] }",
    /^each of these tokens may do everything$/,
    /^give each a name and its rights/,
  ],
  [withMtls, /^every certificate of these authorities comes in, and may do everything$/, /^name those that may call/],
])("%s works as before names and rights, and is warned of", async (callers, message, fix) => {
  const { former } = await load(instead(calledBy(callers, '"127.0.0.1:7411"')));
  expect(former).toEqual([
    expect.objectContaining({
      path: "listeners[0].callers",
      message: expect.stringMatching(message),
      fix: expect.stringMatching(fix),
    }),
  ]);
});

describe("the tokens of callers", () => {
  test("are read in their order, from files and variables, without the newline at a file's end", async () => {
    const { config } = await load(instead(calledBy("{ tokens: [ { file: DIR/new }, { env: OLD } ] }")), {
      new: "canary-new-token\n",
    });
    const callers = config.listeners[0]?.callers;
    const tokens = callers?.kind === "tokens" ? callers.tokens : [];
    expect(tokens.map(({ token }) => token.reveal())).toEqual(["canary-new-token", "canary-old-token"]);
  });

  test("may be asked for on loopback too, and are warned about where they cross a network", async () => {
    const message = "listeners[0].callers.tokens: tokens and orders go over the network in plain text";
    const tokens = "{ tokens: [ { file: DIR/main } ] }";
    expect((await load(instead(calledBy(tokens)))).warnings).toEqual([message]);
    for (const bind of ['"127.0.0.1:7411"', '"[::1]:7411"', '"unix:/run/a.sock"']) {
      expect((await load(instead(calledBy(tokens, bind)))).warnings).toEqual([]);
    }
  });

  test("are warned about when they are short", async () => {
    const { warnings } = await load(instead(byToken), { main: "canary" });
    expect(warnings).toContainEqual(expect.stringMatching(/^listeners\[0\]\.callers\.tokens\[0\]: .*shorter than 16/));
  });

  test("are warned about where one list has the same twice: that is no rotation", async () => {
    const tokens = "{ tokens: [ { file: DIR/main }, { file: DIR/green }, { file: DIR/copy } ] }";
    const { warnings } = await load(instead(calledBy(tokens, '"127.0.0.1:7411"')), {
      copy: "canary-client-secret-main\n",
    });
    expect(warnings).toEqual([
      "listeners[0].callers.tokens[2]: this is the same token as listeners[0].callers.tokens[0]",
    ]);
  });

  test("are named in the log by their own name, else by that of the file or the variable", async () => {
    const tokens = `{ tokens: [ { file: DIR/main, name: orders }, { file: "DIR/my token" }, { env: OLD },
      { env: NEW, name: orders } ] }`;
    const folder = { "my token": "canary-my-token-0000", [`${"n".repeat(80)}`]: "canary-long-token-00" };
    const long = `{ tokens: [ { file: DIR/${"n".repeat(80)} } ] }`;
    const namesOf = async (callers: string) => {
      const { config, warnings } = await load(instead(calledBy(callers, '"127.0.0.1:7411"')), folder);
      const found = config.listeners[0]?.callers;
      expect(warnings).toEqual([]);
      return found?.kind === "tokens" ? found.tokens.map(({ name }) => name) : [];
    };
    expect(await namesOf(tokens)).toEqual(["orders", "my_token", "OLD", "orders"]);
    expect(await namesOf(long)).toEqual(["n".repeat(64)]);
  });

  test("are warned about where two have the same default name", async () => {
    const tokens = "{ tokens: [ { file: DIR/a/token }, { file: DIR/b/token } ] }";
    const { warnings } = await load(instead(calledBy(tokens, '"127.0.0.1:7411"')), {
      "a/token": "canary-token-of-a-0",
      "b/token": "canary-token-of-b-0",
    });
    expect(warnings).toEqual(["listeners[0].callers.tokens[1]: the log calls the callers of two tokens token"]);
  });

  test("may open two listeners of one environment", async () => {
    const twice = calledBy("{ tokens: [ { file: DIR/main } ] }", '"127.0.0.1:7411"');
    const { warnings } = await load(instead(`${twice}${twice.replace("127.0.0.1", "[::1]")}`));
    expect(warnings).toEqual([]);
  });
});

describe("the certificates of callers", () => {
  test("are read: the listener's own with its key, and the authorities", async () => {
    const { config, warnings } = await load(instead(calledBy(withMtls)));
    const callers = config.listeners[0]?.callers;
    if (callers?.kind !== "mtls") throw new Error("not by certificate");
    const { ca, cert, key } = callers.tls;
    expect({ ca, cert, key: key.reveal() }).toEqual(pem);
    expect(warnings).toEqual([]);
  });
});

const token = "listeners[0].callers.tokens[0]";
const mtls = "listeners[0].callers.mtls";
const here = (lines: string) => instead(`${lines.trimEnd()} # here\n`);
const own = production.replace("DIR/main", "DIR/green").replace("main-id", "other-id");

const refusals: readonly Refusal[] = [
  {
    what: "no token at all",
    yaml: here(calledBy("{ tokens: [] }")),
    path: "listeners[0].callers.tokens",
    message: /this is empty/,
    fix: /./,
  },
  {
    what: "a token's file that is not there",
    yaml: here(calledBy("{ tokens: [ { file: DIR/nothing } ] }")),
    path: token,
    message: /ENOENT/,
    fix: /create the file/,
  },
  { what: "an empty token", yaml: here(byToken), files: { main: "\n" }, path: token, message: /empty/, fix: /put it/ },
  ...["canary of two words", "canary-\u00fcmlaut-of-length", "canary-of-two-lines\n\n", "canary=in=the=middle"].map(
    (main) => ({
      what: `a token that cannot be sent: ${JSON.stringify(main)}`,
      yaml: here(byToken),
      files: { main },
      path: token,
      message: /cannot be sent.*RFC 6750/,
      fix: /keygen/,
    }),
  ),
  ...["", "two words", "a".repeat(65), '"a\\nb"'].map((name) => ({
    what: `a name that cannot stand in a log: ${name}`,
    yaml: here(calledBy(`{ tokens: [ { file: DIR/main, name: ${name === "" ? '""' : name} } ] }`)),
    path: `${token}.name`,
    message: /./,
    fix: /write 1 to 64 of A-Z a-z 0-9 \. _ -/,
  })),
  {
    what: "a token that opens another environment too",
    yaml: `${instead(`${byToken}${byToken.replace("7411", "7414").replace("sandbox", "production").trimEnd()} # here\n`)}${own}`,
    path: "listeners[1].callers.tokens[0]",
    message: /^the token also opens environment sandbox$/,
    fix: /callers of environment production/,
  },
  {
    what: "both ways at once",
    yaml: here(calledBy(`{ tokens: [ { file: DIR/main } ], ${withMtls.slice(2)}`)),
    path: mtls,
    message: /mtls does not go with/,
    fix: /./,
  },
  {
    what: "a listener's certificate without its key",
    yaml: here(calledBy("{ mtls: { caFile: ca, certFile: cert } }")),
    path: `${mtls}.keyFile`,
    message: /missing/,
    fix: /./,
  },
  {
    what: "a listener's certificate with another key",
    yaml: here(calledBy(withMtls)),
    files: { key: clientKey },
    path: `${mtls}.keyFile`,
    message: /not the certificate's/,
    fix: /certFile/,
  },
  {
    what: "an authority that is no certificate",
    yaml: here(calledBy(withMtls)),
    files: { ca: serverKey },
    path: `${mtls}.caFile`,
    message: /no certificate/,
    fix: /PEM/,
  },
].map((refusal) => ({ ...refusal, files: { ...pem, ...("files" in refusal ? refusal.files : {}) } }));

itRefuses("callers that cannot be told from others", refusals);
