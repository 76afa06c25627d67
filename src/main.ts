#!/usr/bin/env node
const args = process.argv.slice(2);
const { run } = await (args[0] === "serve" ? import("./cli/serve-program.ts") : import("./cli/program.ts"));
process.exitCode = await run(args);
// Whatever a defect (70, EX_SOFTWARE) has left open must not keep the process.
if (process.exitCode === 70) process.exit();
