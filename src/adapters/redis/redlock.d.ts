/** redlock 5.0.0-beta.2 hides its types from "nodenext"; these are the parts in use. */
declare module "redlock" {
  /** The two commands that Redlock sends. */
  export interface RedlockClient {
    evalsha(hash: string, numberOfKeys: number, args: (string | number)[]): Promise<unknown>;
    eval(script: string, numberOfKeys: number, args: (string | number)[]): Promise<unknown>;
  }

  export interface Votes {
    readonly quorumSize: number;
    readonly votesFor: ReadonlySet<RedlockClient>;
    readonly votesAgainst: ReadonlyMap<RedlockClient, Error>;
  }

  export class ResourceLockedError extends Error {}
  export class ExecutionError extends Error {
    readonly attempts: readonly Promise<Votes>[];
  }

  export class Lock {
    /** By the wall clock. */
    expiration: number;
    release(): Promise<unknown>;
    extend(durationMs: number): Promise<Lock>;
  }

  export default class Redlock {
    /** @param scripts each function gets Redlock's own script, and returns the script to use */
    constructor(
      clients: Iterable<RedlockClient>,
      settings: { readonly retryCount: number },
      scripts: { readonly acquireScript: (script: string) => string },
    );
    acquire(resources: string[], durationMs: number): Promise<Lock>;
  }
}
