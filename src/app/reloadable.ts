import type { Config } from "../config/config.ts";

/**
 * A part of the running process that follows the configuration. First every room prepares for the next one, beside what is
 * in use, and any of them may refuse; then all switch to it at once. Where one refused, all switch back to the
 * configuration in force, which lets go of what was prepared.
 */
export interface Reloadable {
  /** Opens what this configuration needs and is not there; nothing in use changes. */
  prepare(config: Config): Promise<void> | void;
  /** Serves by this configuration, which has been prepared, and lets go of all that it does not need. Never fails. */
  commit(config: Config): void;
}
