import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { isInstalled, plainEnvironment } from "../../../../testkit/run-program.ts";

/** What every request of a run must go by. */
export interface Rules {
  /** Secrets by identifier. */
  readonly keys: Readonly<Record<string, string>>;
  readonly version: string;
  readonly path: string;
}

/** One request as its caller gave it and as it arrived. */
export interface Captured {
  readonly identifier: string;
  readonly given: Uint8Array;
  readonly wire: Uint8Array;
}

interface Verdict {
  readonly checked: number;
  readonly mismatches: number;
  readonly examples: readonly string[];
}

const program = "test/fleet/wire/verified/verify.py";

export const isPythonThere = isInstalled("python3", "--version");

/** The other program. */
export function startVerifier(rules: Rules) {
  const child = spawn("python3", [program], { env: plainEnvironment(), stdio: ["pipe", "pipe", "pipe"] });
  const ended = once(child, "close");
  const [out, complaint] = [text(child.stdout), text(child.stderr)];
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  // A program that ends early is told by its exit code.
  child.stdin.on("error", () => {});
  child.stdin.write(record(Buffer.from(JSON.stringify(rules))));
  // One wait for all who write: each of its own would be a listener of its own.
  let room: Promise<unknown> | undefined;
  const waitForRoom = async () => {
    await Promise.race([once(child.stdin, "drain"), ended]);
    room = undefined;
  };
  return {
    /** Resolves as soon as there is room for more. */
    async check({ identifier, given, wire }: Captured): Promise<void> {
      const hasRoom = child.stdin.write(Buffer.concat([identifier, given, wire].map(record)));
      if (hasRoom) return;
      room ??= waitForRoom();
      await room;
    },
    /** Nothing more will come. */
    async finish(): Promise<Verdict> {
      child.stdin.end();
      const [code] = await ended;
      if (code !== 0) throw new Error(`the verifier failed: ${await complaint}`);
      return JSON.parse(await out);
    },
  };
}

function record(bytes: string | Uint8Array): Buffer {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}
