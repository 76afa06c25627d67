/** An awaited expression, and why no foreseen failure ever comes from it. */
interface Contained {
  readonly file: string;
  readonly awaited: RegExp;
  readonly why: string;
}

/**
 * Our own functions that handle every foreseen failure themselves; the place where the failure arises is a point of its own.
 * Only a defect can make these functions fail.
 */
const contained: readonly Contained[] = [
  { file: "adapters/http-server/connection.js", awaited: /^request\.serve/, why: "answers whatever happens" },
  { file: "adapters/http-server/listener.js", awaited: /^held/, why: "as above" },
  { file: "adapters/http-server/closing.js", awaited: /^sleep/, why: "a timer" },
  { file: "adapters/http-server/listen.js", awaited: /^(isStale|once\(probe)/, why: "takes a failure for an answer" },
  {
    file: "adapters/http-server/drain.js",
    awaited: /^(acceptPending|wholeTurn|nextTurn|sweep|listener\.cutAnswers|Promise\.)/,
    why: "turns of the loop, and closings that cannot fail",
  },
  {
    file: "adapters/redis/connection.js",
    awaited: /^promise$/,
    why: "a task's promise, whose failure arises in the task",
  },
  { file: "adapters/redis/refresh-lock.js", awaited: /lease\.release|^renewing/, why: "the lock ends by itself" },
  { file: "cli/serve.js", awaited: /^stop\.first/, why: "no signal is no failure" },
  { file: "cli/serve.js", awaited: /^askDescriptorLimit/, why: "takes what it cannot read for no limit" },
  { file: "cli/serve.js", awaited: /^(loadOrRefuse|start)\(/, why: "says why it cannot serve" },
  {
    file: "config/load.js",
    awaited: /^(systemDependencies|loadFile|readText|readMountPoints|buildConfig)/,
    why: "as above",
  },
  { file: "config/files/watch.js", awaited: /^(askEach|ask\(|Promise\.all)/, why: "any file has a stamp and a digest" },
  { file: "config/rules/site-folder.js", awaited: /^(this\.#readFile|readSites)/, why: "says what cannot be read" },
  {
    file: "serving/serve.js",
    awaited: /^(fail\(|record\(|request\.answer\(answer)/,
    why: "what is recorded reads as unknown if it is not; the answer is handed over, or the caller has gone",
  },
  { file: "serving/serve.js", awaited: /^context\.once/, why: "a key whose end is not written reads as unknown" },
  { file: "serving/read-ahead.js", awaited: /^reading$/, why: "its failure arises in readAhead; either end is an end" },
  { file: "claims/late-writes.js", awaited: /^(this\.#retryAll|sleep)/, why: "a failed write is kept; a timer" },
  { file: "oauth/token-cache.js", awaited: /^this\.#refresh/, why: "a failed refresh is a pause" },
  { file: "oauth/token-cache.js", awaited: /^republish\(/, why: "as in refresh.js" },
  {
    file: "oauth/refresh.js",
    awaited: /^store\.(read\(key\)|save\(key, token,)/,
    why: "a failing Redis reads as empty",
  },
  { file: "tracing/span-exporter.js", awaited: /^(post\(|within\(|this\.#export)/, why: "a failure is an answer too" },
  { file: "app/tracing.js", awaited: /^exporter\.close/, why: "as above" },
  { file: "app/token-backend.js", awaited: /^import\(/, why: "a file of the package" },
  { file: "app/listeners.js", awaited: /^(listener\.drain\(|drained)/, why: "as in drain.js" },
  { file: "app/token-sources.js", awaited: /^source\.close/, why: "a failed flight is a pause" },
  { file: "app/reload.js", awaited: /^this\.#readAgain/, why: "says what cannot be read" },
];

export function isContained(file: string, awaited: string): boolean {
  return contained.some((each) => each.file === file && each.awaited.test(awaited));
}
