import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { isInstalled, plainEnvironment } from "../../../../testkit/run-program.ts";

/** The rules that every request of a run must obey. */
export interface Rules {
  /** Secrets by identifier. */
  readonly keys: Readonly<Record<string, string>>;
  readonly version: string;
  readonly path: string;
}

/** One request as its caller sent it and as it arrived. */
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

/** Starts the other program, verify.py. */
export function startVerifier(rules: Rules) {
  const child = spawn("python3", [program], { env: plainEnvironment(), stdio: ["pipe", "pipe", "pipe"] });
  const ended = once(child, "close");
  const [out, complaint] = [text(child.stdout), text(child.stderr)];
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  // If the program ends early, its exit code says so.
  child.stdin.on("error", () => {});
  child.stdin.write(record(Buffer.from(JSON.stringify(rules))));
  // One wait for all writers: otherwise each would add a listener.
  let room: Promise<unknown> | undefined;
  const waitForRoom = async () => {
    await Promise.race([once(child.stdin, "drain"), ended]);
    room = undefined;
  };
  return {
    /** Resolves as soon as the program's input accepts more. */
    async check({ identifier, given, wire }: Captured): Promise<void> {
      const hasRoom = child.stdin.write(Buffer.concat([identifier, given, wire].map(record)));
      if (hasRoom) return;
      room ??= waitForRoom();
      await room;
    },
    /** Ends the input, and returns the verdict. */
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
