import { resolve } from "node:path";
import { Secret } from "../model/secret.ts";
import type { Findings } from "./diagnostics.ts";
import type { SecretSource } from "./fields.ts";
import type { Path } from "./problem.ts";
import type { ConfigSurroundings } from "./surroundings.ts";

const shortestGoodBytes = 16;
const readableByAll = 0o004;
const newline = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** Where loaded secrets came from, for people: `file /run/…` or `env NAME`. */
export type Origins = Map<Secret, string>;

/** What was read, and where it came from: `file /run/…` or `env NAME`. */
export interface Found {
  readonly bytes: Buffer;
  readonly origin: string;
}

/** Reads secrets, texts and files, noting what is wrong or risky about each. Nothing read is ever shown. */
export class SecretReader {
  readonly origins: Origins = new Map();
  readonly #surroundings: ConfigSurroundings;
  readonly #folder: string;
  readonly #findings: Findings;

  /** @param folder where relative paths begin: the configuration file's own */
  constructor(surroundings: ConfigSurroundings, folder: string, findings: Findings) {
    this.#surroundings = surroundings;
    this.#folder = folder;
    this.#findings = findings;
  }

  /** A secret of at least one byte; one newline at its end is not part of it. */
  async secret(source: SecretSource, path: Path): Promise<Secret | undefined> {
    const found = "file" in source ? await this.secretFile(source.file, path) : this.#variable(source.env, path);
    if (found === undefined) return undefined;
    const { origin } = found;
    const bytes = dropNewline(found.bytes);
    if (bytes.length === 0) return this.#findings.refuse(path, "the secret is empty", `put it into ${origin}`, origin);
    if (bytes.length < shortestGoodBytes) {
      const message = `the secret from ${origin} is shorter than ${shortestGoodBytes} bytes`;
      this.#findings.warn("secret_short", path, message, "use a longer one");
    }
    if (hasBlankEdge(bytes)) {
      const message = `the secret from ${origin} begins or ends with a blank, a line break or a byte order mark`;
      this.#findings.warn("secret_blank_at_edge", path, message, "write it again without, as with printf %s");
    }
    return this.keep({ bytes, origin });
  }

  /** A line of printable text, such as a client id or an audience. */
  async text(file: string, path: Path, what: string): Promise<string | undefined> {
    const found = await this.file(file, path);
    if (found === undefined) return undefined;
    const text = dropNewline(found.bytes).toString("utf8");
    if (/^[\x21-\x7e]+$/.test(text)) return text;
    const message = text === "" ? `the ${what} is empty` : `the ${what} is not one line of printable text`;
    return this.#findings.refuse(path, message, `put it into ${found.origin}`, found.origin);
  }

  /** Remembers where a secret came from. */
  keep({ bytes, origin }: Found): Secret {
    const secret = new Secret(bytes);
    this.origins.set(secret, origin);
    return secret;
  }

  /** What a secret's text stands for; it came from where the text came from. */
  decode(text: Secret, bytes: Buffer): Secret {
    const origin = this.origins.get(text);
    this.origins.delete(text);
    return origin === undefined ? new Secret(bytes) : this.keep({ bytes, origin });
  }

  /** The whole of a file that others had better not read. */
  async secretFile(file: string, path: Path): Promise<Found | undefined> {
    const found = await this.file(file, path);
    if (found !== undefined && (found.mode & readableByAll) !== 0) {
      const message = `everyone may read the secret in ${this.#locate(file)}`;
      this.#findings.warn("secret_readable_by_all", path, message, "take that away from others (chmod o-r)");
    }
    return found;
  }

  /** The whole of a file; `mode` holds its permission bits. */
  async file(file: string, path: Path): Promise<(Found & { readonly mode: number }) | undefined> {
    const place = this.#locate(file);
    const origin = `file ${place}`;
    try {
      const { bytes, mode } = await this.#surroundings.readFile(place);
      if (this.#surroundings.mountPoints.has(place)) {
        const message = `${place} is mounted by subPath and is never updated`;
        this.#findings.warn("mounted_by_subpath", path, message, "mount its whole folder");
      }
      return { bytes, mode, origin };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
      const isMissing = code === "ENOENT" || code === "ENOTDIR";
      const fix = isMissing ? "create the file, or correct the path" : "make it a file that this process may read";
      return this.#findings.refuse(path, `the file cannot be read (${code})`, fix, origin);
    }
  }

  #variable(name: string, path: Path): Found | undefined {
    // A stand-in (patient-schema.ts): what is written there is refused already.
    if (name === "") return undefined;
    const value = this.#surroundings.env[name];
    const origin = `env ${name}`;
    if (value !== undefined) return { bytes: Buffer.from(value, "utf8"), origin };
    const fix = `set ${name}, or use { file: … }`;
    return this.#findings.refuse(path, "the environment variable is not set", fix, origin);
  }

  #locate(file: string): string {
    return resolve(this.#folder, file);
  }
}

/** Seldom meant, and sent all the same: a second newline, a blank that was copied along, what an editor puts first. */
function hasBlankEdge(bytes: Buffer): boolean {
  const isBlank = (byte = 0) => byte === 0x20 || (byte >= 0x09 && byte <= carriageReturn);
  return isBlank(bytes.at(0)) || isBlank(bytes.at(-1)) || bytes.subarray(0, 3).equals(byteOrderMark);
}

/** One newline at the end, as editors and `echo` leave it. */
export function dropNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== newline) return bytes;
  return bytes.subarray(0, bytes.at(-2) === carriageReturn ? -2 : -1);
}
