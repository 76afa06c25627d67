#!/usr/bin/env node
import { exitCodes } from "countersign/cli/command";
import { run } from "./program.ts";

process.exitCode = await run(process.argv.slice(2));
// Whatever a defect has left open must not keep the process.
if (process.exitCode === exitCodes.defect) process.exit();
