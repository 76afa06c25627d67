import { basename, dirname, resolve } from "node:path";
import { nearestName } from "../../model/names.ts";
import { Secret } from "../../model/secret.ts";
import type { Diagnostics, Path, WarningCode } from "../diagnostics.ts";
import { codeOf, type FileContent } from "../files/file-system.ts";
import { printablePattern, type SecretSource } from "../form/fields.ts";
import { invisibleIn, mistakesIn, otherEncoding, type SecretForm } from "./secret-mistakes.ts";
import { type UniqueValue, uniqueKey } from "./uniqueness.ts";

const shortestGoodBytes = 16;
/** In a larger folder no name is looked for that was meant. */
const fewFiles = 20;
const readableByAll = 0o004;
/** Node reads each byte of a variable that is no UTF-8 as this character. */
const lostBytes = "\ufffd";
const saveAsUtf8 =
  "write it as UTF-8 without a byte order mark, as with printf %s; Windows PowerShell's > writes UTF-16";
const newline = 0x0a;
const carriageReturn = 0x0d;

/** The sources of a configuration; injected, so that files are read in one place only. */
export interface ConfigDependencies {
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * @param mayBePipe true for the configuration itself
   * @throws with a `code` such as ENOENT
   */
  readFile(path: string, mayBePipe?: boolean): Promise<FileContent>;
  /** The names in a folder. */
  readFolder(path: string): Promise<readonly string[]>;
  /** Mount points. If a single file is a mount point, as with `subPath` in Kubernetes, the file is never updated. */
  readonly mountPoints: ReadonlySet<string>;
}

/** Bytes, and their origin: `file /run/…` or `env NAME`. */
export interface Content {
  readonly bytes: Buffer;
  readonly origin: string;
}

/** The same dependencies, which note each file that is read: by path the result of `noteOf`, or the code of the error. */
export function noteFiles(
  dependencies: ConfigDependencies,
  notes: Map<string, string>,
  noteOf: (content: FileContent) => string,
): ConfigDependencies {
  const readFile: ConfigDependencies["readFile"] = async (path, mayBePipe) => {
    try {
      const content = await dependencies.readFile(path, mayBePipe);
      notes.set(path, noteOf(content));
      return content;
    } catch (error) {
      notes.set(path, codeOf(error));
      throw error;
    }
  };
  return { ...dependencies, readFile };
}

/** Shared by all parts of a configuration while it is loaded. */
interface LoadState {
  readonly dependencies: ConfigDependencies;
  /** The folder of the configuration file. */
  readonly folder: string;
  readonly diagnostics: Diagnostics;
  /** All secrets that were read. */
  readonly secrets: Secret[];
  /** Collected while the environments are loaded; compared afterwards. */
  readonly uniqueValues: UniqueValue[];
  /** The label of each OAuth client, by its fingerprint. */
  readonly clientLabels: Map<string, string>;
}

/**
 * One path of the configuration while it is loaded: reports problems at the path, and reads the files and variables named
 * there. If a read fails, or the content is unsound, that is reported and the result is undefined. No content is ever shown.
 */
export class LoadContext {
  readonly state: LoadState;
  readonly path: Path;

  private constructor(state: LoadState, path: Path) {
    this.state = state;
    this.path = path;
  }

  /** @param folder the folder of the configuration file */
  static open(dependencies: ConfigDependencies, folder: string, diagnostics: Diagnostics): LoadContext {
    const nothingYet = { secrets: [], uniqueValues: [], clientLabels: new Map() };
    return new LoadContext({ dependencies, folder, diagnostics, ...nothingYet }, []);
  }

  /** A path below this one. */
  in(...path: Path): LoadContext {
    return new LoadContext(this.state, this.path.concat(path));
  }

  /** Relative paths start in the folder of the configuration file. */
  absolute(file: string): string {
    return resolve(this.state.folder, file);
  }

  /** Each item of a list, with the context of its own path. */
  *each<Item>(list: readonly Item[]): Generator<[item: Item, at: LoadContext]> {
    for (const [index, item] of list.entries()) yield [item, this.in(index)];
  }

  /** @param found shown instead of the value in the file; `hidden` if that may be a secret */
  report(message: string, fix: string, found?: string | "hidden"): undefined {
    return this.state.diagnostics.report(this.path, message, fix, found);
  }

  /** Reports a name that is not among `names`. An empty list is reported elsewhere. */
  reportUnlessOneOf(names: readonly string[], name: string, what: string): void {
    if (names.length === 0 || names.includes(name)) return;
    this.report(`there is no such ${what}`, `name one of: ${names.join(", ")}`);
  }

  warn(code: WarningCode, message: string, fix: string): void {
    this.state.diagnostics.warn(code, this.path, message, fix);
  }

  /**
   * No other environment may have this value.
   * @param owner the only one in its environment that may have the value; undefined: several may have it
   */
  addUniqueValue(
    kind: UniqueValue["kind"],
    value: string | Secret,
    owner?: string,
    environment = String(this.path[1]),
  ): void {
    this.state.uniqueValues.push({ kind, key: uniqueKey(kind, value), path: this.path, environment, owner });
  }

  async loadSecret(source: SecretSource, form?: SecretForm): Promise<Secret | undefined> {
    const content = await this.readSecret(source, form);
    return content && this.makeSecret(content);
  }

  /**
   * A secret's bytes, at least one; one newline at the end is dropped. A text that is not UTF-8 is refused, since it would be sent
   * as another text.
   */
  async readSecret(source: SecretSource, form: SecretForm = "line"): Promise<Content | undefined> {
    const content = "file" in source ? await this.readSecretFile(source.file) : this.#variable(source.env);
    if (content === undefined) return undefined;
    const { origin } = content;
    const bytes = dropNewline(content.bytes);
    if (bytes.length === 0) return this.report("the secret is empty", `put it into ${origin}`, origin);
    const encoding = otherEncoding(bytes);
    if (encoding !== undefined && form !== "bytes") {
      return this.report(`the secret is ${encoding}`, saveAsUtf8, origin);
    }
    if (bytes.length < shortestGoodBytes) {
      const message = `the secret from ${origin} is shorter than ${shortestGoodBytes} bytes`;
      this.warn("secret_short", message, "use a longer one");
    }
    for (const [what, fix] of mistakesIn(bytes, form)) {
      this.warn("secret_not_plain", `the secret from ${origin} ${what}`, fix);
    }
    return { bytes, origin };
  }

  makeSecret({ bytes, origin }: Content): Secret {
    const secret = new Secret(bytes, origin);
    this.state.secrets.push(secret);
    return secret;
  }

  /** A line of printable text, such as a client id or an audience. */
  async readText(file: string, what: string, form = printablePattern): Promise<string | undefined> {
    const content = await this.readFile(file);
    if (content === undefined) return undefined;
    const bytes = dropNewline(content.bytes);
    const text = bytes.toString("utf8");
    if (form.test(text)) return text;
    const { origin } = content;
    if (text === "") return this.report(`the ${what} is empty`, `put it into ${origin}`, origin);
    const encoding = otherEncoding(bytes);
    const unseen = invisibleIn(text);
    const reason = encoding ?? unseen;
    const message = `the ${what} is not one line of printable text${reason === undefined ? "" : `: ${reason}`}`;
    const without =
      unseen === undefined ? "with printable ASCII alone, and no blank in it" : "without that, as with printf %s";
    return this.report(message, encoding === undefined ? `write ${origin} again ${without}` : saveAsUtf8, origin);
  }

  /** Reads a whole secret file; warns if everyone may read it. */
  async readSecretFile(file: string): Promise<Content | undefined> {
    const content = await this.readFile(file);
    if (content !== undefined && (content.mode & readableByAll) !== 0) {
      const message = `everyone may read the secret in ${this.absolute(file)}`;
      this.warn("secret_readable_by_all", message, "take that away from others (chmod o-r)");
    }
    return content;
  }

  /** The result of reading a folder; a failure is reported as a problem. */
  async guard<Value>(folder: string, reading: Promise<Value>): Promise<Value | undefined> {
    try {
      return await reading;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      const fix = `${fixReading(code, "folder")}: ${this.absolute(folder)}`;
      return this.report(`the folder cannot be read (${code})`, fix);
    }
  }

  /** Whether the file exists, also if it cannot be read. */
  async hasFile(file: string): Promise<boolean> {
    return this.state.dependencies.readFile(this.absolute(file)).then(
      () => true,
      ({ code }: NodeJS.ErrnoException) => code !== "ENOENT",
    );
  }

  /** Reads a whole file. */
  async readFile(file: string): Promise<(Content & FileContent) | undefined> {
    const absolute = this.absolute(file);
    const origin = `file ${absolute}`;
    try {
      const content = await this.state.dependencies.readFile(absolute);
      this.warnOfMount(absolute, absolute);
      return { origin, ...content };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
      const folder = dirname(absolute);
      if (code === "ENOTDIR") return this.report("the folder is a file, or in one", "name a folder", folder);
      const beside = code === "ENOENT" ? await this.namesIn(folder) : [];
      // The next files of a credential set's folder get the same report, which is dropped.
      if (beside === undefined) return this.reportNoFolder(folder);
      const other = beside.length > fewFiles ? undefined : nearestName(basename(absolute), beside);
      const fix = other === undefined ? fixReading(code) : `did you mean ${other}? Correct the path, or rename it`;
      return this.report(`the file cannot be read (${code})`, `${fix}: ${absolute}`, origin);
    }
  }

  /** The names in a folder; undefined if there is no such folder. */
  async namesIn(folder: string): Promise<readonly string[] | undefined> {
    const read = this.state.dependencies.readFolder(folder);
    return read.catch(({ code }: NodeJS.ErrnoException) => (code === "ENOENT" ? undefined : []));
  }

  reportNoFolder(folder: string): undefined {
    return this.report("there is no such folder", `create it, or correct the path: ${folder}`, folder);
  }

  /** @param name what to call the file */
  warnOfMount(path: string, name: string): void {
    if (!this.state.dependencies.mountPoints.has(path)) return;
    this.warn("mounted_by_subpath", `${name} is mounted by subPath and is never updated`, "mount its whole folder");
  }

  #variable(name: string): Content | undefined {
    const value = this.state.dependencies.env[name];
    const origin = `env ${name}`;
    if (value?.includes(lostBytes)) return this.report("the secret is not UTF-8", saveAsUtf8, origin);
    if (value !== undefined) return { bytes: Buffer.from(value, "utf8"), origin };
    return this.report("the environment variable is not set", `set ${name}, or use { file: … }`, origin);
  }
}

function fixReading(code: string, what = "file"): string {
  if (code === "ENOENT") return `create the ${what}, or correct the path`;
  return code === "EFBIG" ? "name a file of at most 16 MiB" : `make it a ${what} that this process may read`;
}

/** Drops one newline at the end, which editors and `echo` add. */
export function dropNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== newline) return bytes;
  return bytes.subarray(0, bytes.at(-2) === carriageReturn ? -2 : -1);
}
