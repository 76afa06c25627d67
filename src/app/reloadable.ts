import type { Config } from "../config/config.ts";

/**
 * A part of the running process that follows the configuration. All parts prepare for the next configuration beside the
 * active one, and each may refuse. Then all commit. Where one refuses, all commit the active configuration again, which
 * ends what was prepared.
 */
export interface Reloadable {
  /** Opens what this configuration needs and is not open yet. Nothing in use changes. */
  prepare(config: Config): Promise<void> | void;
  /** Serves by this configuration, which was prepared, and retires what it does not need. Never fails. */
  commit(config: Config): void;
}
