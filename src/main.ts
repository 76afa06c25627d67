#!/usr/bin/env node
import { loadServe } from "./cli/load-serve.ts";

const args = process.argv.slice(2);
const { run } = await (args[0] === "serve" ? loadServe() : import("./cli/program.ts"));
process.exitCode = await run(args);
// Whatever a defect (70, EX_SOFTWARE) has left open must not keep the process.
if (process.exitCode === 70) process.exit();
