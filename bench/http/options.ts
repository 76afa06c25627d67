import { flag, names, readOptions as read, text, wholeNumber } from "../../scripts/command-line.ts";

export const usage = `npm run bench -- [options]

Measures Countersign beside other proxies, each on a processor of its own, with the load and the service on another one.
Rounds are interleaved (A B C … A B C …); the table has medians and their spread. The service checks a sample of all
signatures and tokens, so a fast wrong answer cannot win. Programs that are not installed are left out and named.

   --rounds N        1 to 100; default 5
   --seconds N       of each measurement, 1 to 600; default 5
   --connections N   1 to 512; default 32
   --only A,B        these programs
   --svg FILE        writes the picture of the table
   --image           the image's command line, and some others, within 256 MiB and with 1 or 0.1 processor: start, memory
                     without a request, CPU at 50, 200 and 1,000 requests a second, and at 200 again once it is warm
   --node FILE       with --image: the Node.js that the image has; default: this one
   --idle N          with --image: seconds without a request, 15 to 3600; default 120
   --json            one JSON document instead of the table
   --help            print this

It needs Linux, wrk and taskset. Exit code 0: measured. 1: a program answered wrongly. 2: the command line is wrong.`;

export const readOptions = (args: readonly string[]) =>
  read(args, usage, {
    rounds: wholeNumber(1, 100, 5),
    seconds: wholeNumber(1, 600, 5),
    connections: wholeNumber(1, 512, 32),
    only: names,
    svg: text,
    image: flag,
    node: text,
    idle: wholeNumber(15, 3_600, 120),
    json: flag,
  });

export type Options = NonNullable<ReturnType<typeof readOptions>>;
