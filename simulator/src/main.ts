#!/usr/bin/env node
import { exitCodes } from "countersign/cli/command";
import { run } from "./program.ts";

process.exitCode = await run(process.argv.slice(2));
// Nothing that a defect has left open may keep the process running.
if (process.exitCode === exitCodes.defect) process.exit();
