import type { ProcessEvent } from "../../src/model/process-events.ts";
import { common, type Reference } from "./line.ts";

const { requestId, listener, isFirst, routes } = common;

const hash = "The first 12 digits of the hash over the active configuration, secrets included by fingerprint.";
const trigger = "`sighup` or `file_change`.";

/** The lines of the process, its listeners and its configuration. */
export const processLines: Reference<ProcessEvent["kind"]> = {
  started: {
    levels: ["info"],
    when: "It listens. Written whatever `log.level` is.",
    fields: {
      version: "Of Countersign.",
      configHash: hash,
      routes,
      adminBind: "Where `/metrics` and the probes are.",
      statusBind: "Where the status page is.",
    },
  },
  configuration_warned: {
    levels: ["warn"],
    when: "Something in the configuration is allowed and risky; `message` says what.",
    fields: {
      code: "The warning's code, for `acknowledge`.",
      path: "The key's place in the file.",
      more: "On the tenth line of one code: how many more there are, which get no line. `countersign check` prints them.",
    },
  },
  config_applied: {
    levels: ["info"],
    when: "Another configuration is active. Written whatever `log.level` is.",
    fields: { hash, previousHash: "Of the configuration before.", trigger, routes },
  },
  config_refused: {
    levels: ["error"],
    when: "A changed configuration was refused as a whole.",
    fields: { hash, trigger, problems: "What is wrong with it, one text each: place, finding, and what to write." },
  },
  config_unchanged: {
    levels: ["info"],
    when: "Configuration and secrets were read again, and have not changed.",
    fields: { hash },
  },
  handshake_failed: {
    levels: ["warn", "debug"],
    when: "A caller's TLS handshake failed.",
    fields: { listener, reason: "A code of OpenSSL or Node, such as `CERT_HAS_EXPIRED`.", isFirst },
  },
  accept_failed: {
    levels: ["error", "debug"],
    when: "A connection could not be taken.",
    fields: { listener, reason: "A code of the system, such as `EMFILE`.", isFirst },
  },
  draining: {
    levels: ["info"],
    when: "It received a signal to end, and lets open requests end first.",
    fields: { signal: "The signal, such as `SIGTERM`.", inFlight: "How many requests were open." },
  },
  stopped: {
    levels: ["info"],
    when: "It has ended.",
    fields: { drained: "Whether every open request had ended in time." },
  },
  log_lines_dropped: {
    levels: ["warn"],
    when: "Standard output takes lines again, after its reader stalled or a disk was full.",
    fields: { dropped: "How many lines were not written." },
  },
  process_warned: {
    levels: ["warn"],
    when: "Node.js or a package warned of something, such as a deprecation.",
    fields: {
      warning: "The warning's name, its code and where it came from; never its text, which may quote foreign text.",
    },
  },
  defect: {
    levels: ["error"],
    when: "A defect in Countersign. Please report it.",
    fields: {
      where: "The step, or the part.",
      requestId,
      error: "The error's class and where it was thrown; never its message, which may quote foreign text.",
    },
  },
};
