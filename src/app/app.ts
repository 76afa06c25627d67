import { createAdmin, createStatus } from "../adapters/http-server/read-only-server.ts";
import type { Config } from "../config/config.ts";
import { describeProblem } from "../config/diagnostics.ts";
import { routes } from "../config/explain.ts";
import { sleep, takeTurns } from "../model/clock.ts";
import type { ReloadTrigger, Report } from "../model/events.ts";
import { describeBind } from "../model/listener.ts";
import { PatchedMap } from "../model/patched-map.ts";
import { answerSettlement, settleOutcome } from "../orders/settle.ts";
import { BufferBudget } from "../serving/buffer-budget.ts";
import { version } from "../version.ts";
import { type Dependencies, systemDependencies } from "./dependencies.ts";
import { onceRules, openHandlers } from "./handlers.ts";
import type { Reloadable } from "./keyed-resources.ts";
import { openListeners } from "./listeners.ts";
import { openObservers, type Snapshots } from "./observers.ts";
import { defaultBudget } from "./process-limits.ts";
import { openTokens } from "./token-sources.ts";
import { openTracing } from "./tracing.ts";
import { openUpstreams } from "./upstreams.ts";

/** The running process: all its parts, under one configuration at a time. */
export type App = Awaited<ReturnType<typeof start>>;

/**
 * Starts the proxy; tokens are fetched in the background.
 * @throws if it cannot listen
 */
export async function start(first: Config, given: Partial<Dependencies> = {}) {
  const dependencies = { ...systemDependencies, ...given };
  const { clock, memoryBytes } = dependencies;
  let active = first;
  /** False until the first configuration is active: a failure then has none to return to. */
  let isStarted = false;
  let stopped: Promise<boolean> | undefined;
  let isClosed = false;
  /** Aborted by `hurry`. */
  const hurried = new AbortController();

  const bufferedBytes = ({ limits }: Config) => limits.bufferedBytes ?? defaultBudget(memoryBytes);
  const buffers = new BufferBudget(bufferedBytes(first), clock);
  const memory: Reloadable = { commit: (config) => buffers.resize(bufferedBytes(config)) };
  const activeRoutes = () => routes(active, listeners.bindsOf(active));
  const snapshots: Snapshots = {
    config: () => active,
    routes: activeRoutes,
    credentials: () => tokens.credentials(),
    redis: () => tokens.redis(active),
    unwritten: () => tokens.unwritten(),
    connections: () => listeners.connections(),
    inFlight: () => handlers.inFlight(),
    buffers: () => buffers,
  };
  const observers = openObservers(snapshots, dependencies);
  const { report, views } = observers;
  const upstreams = openUpstreams(clock, report);
  const tracing = openTracing(report, dependencies);
  const { tracerOf, observeTokens } = tracing;
  const tokens = openTokens(upstreams.tokenEndpointOf, observeTokens(report), dependencies);
  const { tokensOf, claimsOf } = tokens;
  // A pod that is not ready gets no requests, so the probe has to start the first token request.
  const readiness = () => {
    const view = views.readiness();
    if (view.awaitsToken) tokens.warm();
    return view;
  };
  const handlers = openHandlers({ clock, report, upstreams, tokensOf, tracerOf, claimsOf, buffers });
  const settle = (requestId: string, text: string) => {
    const { environments, docsUrl } = active;
    const once = onceRules(active, claimsOf(active));
    return answerSettlement(
      settleOutcome(requestId, text, { report, environments, once, find: observers.findUnknown }),
      docsUrl,
    );
  };
  const forReaders = { clock, buffers: new BufferBudget(Number.POSITIVE_INFINITY, clock) };
  const listeners = openListeners({
    clock,
    report,
    handlers,
    buffers,
    createAdmin: () => createAdmin({ ...views, readiness }, forReaders, () => active.adminHosts),
    createStatus: () => createStatus({ ...views, settle }, forReaders),
  });
  /** In the order of their preparation: an occupied address is found before a token is requested. */
  const parts: readonly Reloadable[] = [memory, observers, tracing, upstreams, listeners, handlers, tokens];
  /** In the order of their closing: tracing last, so that it gets the spans of all the others. */
  const closing = [listeners, tokens, upstreams, tracing];

  async function activate(config: Config): Promise<void> {
    try {
      for (const part of parts) {
        await takeTurns();
        await part.prepare?.(config);
      }
      await takeTurns();
    } catch (error) {
      if (isStarted) commit(active);
      throw error;
    }
    isStarted = true;
    commit(stopped === undefined ? config : active);
    tokens.warm();
  }

  function commit(config: Config): void {
    // Resources that were prepared after `close` must be closed too.
    if (isClosed) return void close();
    active = config;
    for (const part of parts) part.commit(config);
  }

  /** Ends the requests that are still open; each gets an answer that says what is known of it. */
  function endOpen(): void {
    handlers.endOpen();
    upstreams.cut();
  }

  async function drain(signal: string): Promise<boolean> {
    const { minMs } = active.drain;
    const inFlight = [...handlers.inFlight().values()].reduce((sum, each) => sum + each, 0);
    report({ kind: "draining", signal, inFlight });
    if (minMs > 0) await sleep(clock, minMs, hurried.signal);
    const areGone = await listeners.drain(endOpen, hurried.signal);
    // A second signal ended the requests that were open.
    const drained = areGone && !hurried.signal.aborted;
    await close();
    report({ kind: "stopped", drained });
    return drained;
  }

  /** Ends every connection and timer. */
  async function close(): Promise<void> {
    isClosed = true;
    for (const part of closing) await part.close();
  }

  await activate(first).catch(async (error) => {
    await close();
    throw error;
  });
  const { admin, status } = listeners.bindsOf(active);
  const binds = { admin: describeBind(admin), status: status && describeBind(status) };
  report({ kind: "started", version, configHash: active.hash, routes: activeRoutes(), ...binds });
  reportSites(undefined, active, report);

  return {
    /** Reports an event to metrics, status, and the `report` of the dependencies. */
    report,

    /** The active configuration. */
    get config(): Config {
      return active;
    },

    get binds() {
      return listeners.bindsOf(active);
    },

    /**
     * Applies another configuration without a failed request. Listeners and resources that stay, such as tokens, remain open;
     * requests under way keep their configuration. Do not call it again before it has ended. After `stop` it does nothing.
     * @throws if it cannot listen; the former configuration then stays active
     */
    async apply(config: Config, trigger: ReloadTrigger): Promise<void> {
      if (stopped !== undefined) return;
      const before = active;
      await activate(config);
      await takeTurns();
      if (active !== config) return;
      const { hash: previousHash } = before;
      report({ kind: "config_applied", hash: config.hash, previousHash, trigger, routes: activeRoutes() });
      reportSites(before, config, report);
    },

    /**
     * Drains and closes everything: open requests keep the `timeouts.request` that they were accepted with, later ones get
     * 503. A second call waits for the first.
     * @returns whether all connections ended in time
     */
    stop(signal: string): Promise<boolean> {
      stopped ??= drain(signal);
      return stopped;
    },

    /** Ends the drain, and with it every open request, of which each still gets its answer. */
    hurry(): void {
      hurried.abort();
    },
  };
}

/** So many changed sites are named in a log line, and so many refused files get one: ten thousand may lack the same secret. */
const mostNamed = 20;

/**
 * Reports refused site files, and changes among sites that have files of their own.
 * @param before the formerly active configuration; undefined at the start
 */
function reportSites(before: Config | undefined, after: Config, report: Report): void {
  for (const { name: environment, sites, siteFolder } of after.environments.values()) {
    if (siteFolder === undefined) continue;
    const earlier = before?.environments.get(environment);
    const reported = new Set(earlier?.siteFolder?.refused.map((each) => JSON.stringify(each)));
    const unreported = siteFolder.refused.filter((each) => !reported.has(JSON.stringify(each)));
    for (const [index, refused] of unreported.slice(0, mostNamed).entries()) {
      const more = index === mostNamed - 1 && unreported.length > mostNamed ? unreported.length - mostNamed : undefined;
      const problems = refused.problems.map(describeProblem);
      report({ kind: "site_file_refused", environment, ...refused, problems, more });
    }
    if (earlier === undefined) continue;
    const [added, changed, removed]: [string[], string[], string[]] = [[], [], []];
    for (const site of PatchedMap.changedKeys(earlier.sites, sites)) {
      const [former, now] = [earlier.sites.get(site), sites.get(site)];
      if (former === now) continue;
      const list = former === undefined ? added : now === undefined ? removed : changed;
      list.push(site);
    }
    const names = [...added, ...changed, ...removed].slice(0, mostNamed);
    if (names.length === 0) continue;
    const counts = { added: added.length, changed: changed.length, removed: removed.length };
    report({ kind: "sites_changed", environment, ...counts, names });
  }
}
