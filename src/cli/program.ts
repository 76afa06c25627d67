import type { Command } from "commander";
import { simulatorCommand } from "./left-out.ts";
import { createAll, type Program, runProgram } from "./run-program.ts";

/** Commands are loaded only when they are called, so that `serve` starts without the others' dependencies. */
const program: Program = {
  name: "countersign",
  description: "Outbound, auth-injecting HTTP sidecar: plain JSON in, signed or authorised requests out.",
  commands: {
    serve: () => import("./serve.ts"),
    check: () => import("./check.ts"),
    doctor: () => import("./doctor.ts"),
    health: () => import("./health.ts"),
    sign: () => import("./sign.ts"),
    verify: () => import("./verify.ts"),
    preview: () => import("./preview.ts"),
    token: () => import("./token.ts"),
    keygen: () => import("./keygen.ts"),
    schema: () => import("./schema.ts"),
    inject: () => import("./inject.ts"),
    simulate: simulatorCommand("simulate"),
    demo: simulatorCommand("demo"),
  },
};

/** Every command, for the reference of the command line. */
export function createCommands(): Promise<Command[]> {
  return createAll(program);
}

/** @returns the exit code, as `runProgram` does */
export function run(args: readonly string[]): Promise<number> {
  return runProgram(program, args);
}
