#!/usr/bin/env node
import { exitCodes } from "countersign/cli/command";
import { exitOnSignalsAsPidOne } from "countersign/cli/signals";
import { run } from "./program.ts";

exitOnSignalsAsPidOne();
process.exitCode = await run(process.argv.slice(2));
// Nothing that a defect has left open may keep the process running.
if (process.exitCode === exitCodes.defect) process.exit();
