import { createPrivateKey, X509Certificate } from "node:crypto";
import { Secret } from "../secret.ts";
import type { SecretSource } from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { Path } from "./problem.ts";
import type { ConfigSurroundings } from "./surroundings.ts";

const shortestGoodBytes = 16;
const readableByAll = 0o004;
const newline = 0x0a;
const carriageReturn = 0x0d;

/** Where loaded secrets came from, for people: `file /run/…` or `env NAME`. */
export type Origins = Map<Secret, string>;

/** Reads secrets, texts and PEM files, noting what is wrong or risky about each. Nothing read is ever shown. */
export class SecretReader {
  readonly origins: Origins = new Map();
  readonly #surroundings: ConfigSurroundings;
  readonly #findings: Findings;

  constructor(surroundings: ConfigSurroundings, findings: Findings) {
    this.#surroundings = surroundings;
    this.#findings = findings;
  }

  /** A secret of at least one byte. */
  async secret(source: SecretSource, path: Path): Promise<Secret | undefined> {
    const origin = "file" in source ? `file ${source.file}` : `env ${source.env}`;
    const bytes = "file" in source ? await this.#file(source.file, path, true) : this.#variable(source.env, path);
    if (bytes === undefined) return undefined;
    const trimmed = dropNewline(bytes);
    if (trimmed.length === 0)
      return this.#findings.refuse(path, "the secret is empty", `put it into ${origin}`, origin);
    if (trimmed.length < shortestGoodBytes) {
      this.#findings.warn(
        path,
        `the secret from ${origin} is shorter than ${shortestGoodBytes} bytes`,
        "use a longer one",
      );
    }
    const secret = new Secret(trimmed);
    this.origins.set(secret, origin);
    return secret;
  }

  /** A line of printable text, such as a client id or an audience. */
  async text(file: string, path: Path, what: string): Promise<string | undefined> {
    const bytes = await this.#file(file, path, false);
    if (bytes === undefined) return undefined;
    const text = dropNewline(bytes).toString("utf8");
    if (/^[\x21-\x7e]+$/.test(text)) return text;
    const message = text === "" ? `the ${what} is empty` : `the ${what} is not one line of printable text`;
    return this.#findings.refuse(path, message, `put it into ${file}`, `file ${file}`);
  }

  /** Certificates in PEM. */
  async certificates(file: string, path: Path): Promise<string | undefined> {
    const bytes = await this.#file(file, path, false);
    if (bytes === undefined) return undefined;
    try {
      new X509Certificate(bytes);
      return bytes.toString("utf8");
    } catch {
      return this.#findings.refuse(
        path,
        "this file holds no certificate in PEM",
        "give the path of a PEM file",
        `file ${file}`,
      );
    }
  }

  /** A private key in PEM, without a passphrase. */
  async privateKey(file: string, path: Path): Promise<Secret | undefined> {
    const bytes = await this.#file(file, path, true);
    if (bytes === undefined) return undefined;
    try {
      createPrivateKey(bytes);
      const secret = new Secret(bytes);
      this.origins.set(secret, `file ${file}`);
      return secret;
    } catch {
      return this.#findings.refuse(
        path,
        "this file holds no private key in PEM",
        "give the path of a PEM file without a passphrase",
        `file ${file}`,
      );
    }
  }

  async #file(file: string, path: Path, isSecret: boolean): Promise<Buffer | undefined> {
    try {
      const { bytes, mode } = await this.#surroundings.readFile(file);
      if (isSecret && (mode & readableByAll) !== 0) {
        this.#findings.warn(
          path,
          `everyone may read the secret in ${file}`,
          "take the permission away from others (chmod o-r)",
        );
      }
      if (this.#surroundings.mountPoints.has(file)) {
        this.#findings.warn(path, `${file} is mounted by subPath and will never be updated`, "mount its whole folder");
      }
      return bytes;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
      const mend =
        code === "ENOENT" ? "create the file, or correct the path" : "make the file readable for this process";
      return this.#findings.refuse(path, `the file cannot be read (${code})`, mend, `file ${file}`);
    }
  }

  #variable(name: string, path: Path): Buffer | undefined {
    const value = this.#surroundings.env[name];
    if (value !== undefined) return Buffer.from(value, "utf8");
    return this.#findings.refuse(
      path,
      "the environment variable is not set",
      `set ${name}, or use { file: … }`,
      `env ${name}`,
    );
  }
}

/** One newline at the end, as editors and `echo` leave it. */
function dropNewline(bytes: Buffer): Buffer {
  if (bytes.at(-1) !== newline) return bytes;
  return bytes.subarray(0, bytes.at(-2) === carriageReturn ? -2 : -1);
}
