import { flag, readOptions as read, wholeNumber } from "../../scripts/command-line.ts";

export const usage = `npm run bench:overload -- [options]

The built command with a limit on requests in flight, and a service behind it that takes its time for each order, so that
the limit alone decides how much can be served. First as many callers as may be in flight, each of which sends its next
order when it has its answer: that is the peak. Then orders at 1, 2 and 10 times that rate, whether or not earlier ones
have been answered, from a process of its own.

   --in-flight N     the limit, 4 to 256; default 32
   --service-ms N    how long the service takes, 20 to 2000; default 400
   --seconds N       how long each stretch of load lasts, 1 to 600; default 10
   --json            one JSON document instead of the table
   --help            print this

Exit code 0: every target was reached. 1: one was missed. 2: the command line is wrong.`;

export const readOptions = (args: readonly string[]) =>
  read(args, usage, {
    inFlight: wholeNumber(4, 256, 32),
    serviceMs: wholeNumber(20, 2_000, 400),
    seconds: wholeNumber(1, 600, 10),
    json: flag,
  });

export type Options = NonNullable<ReturnType<typeof readOptions>>;
