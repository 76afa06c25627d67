import type { Level } from "../../src/adapters/log/lines.ts";
import type { Event } from "../../src/model/events.ts";

type Kind = Event["kind"];

/** Fields of an event that its line leaves out, and those that the line calls by another name. */
interface LeftOut {
  readonly request_finished: "operationLabel" | "callerName" | "admitted";
  readonly started: "admin" | "status";
  readonly configuration_warned: "message";
}
interface Renamed {
  readonly started: "adminBind" | "statusBind";
}

type OwnFields<K extends Kind> = Exclude<keyof Extract<Event, { kind: K }>, "kind">;
type FieldsOf<K extends Kind> =
  | Exclude<OwnFields<K>, K extends keyof LeftOut ? LeftOut[K] : never>
  | (K extends keyof Renamed ? Renamed[K] : never);

/** What the reference says of one kind of line. The compiler checks that no field is missing. */
export interface LineReference<K extends Kind> {
  /** Every level that the line can have, the usual one first. */
  readonly levels: readonly [Level, ...Level[]];
  readonly when: string;
  /** What each field is, in the order of the page. */
  readonly fields: Readonly<Record<FieldsOf<K>, string>>;
}

/** A reference of these kinds of line. */
export type Reference<K extends Kind = Kind> = { readonly [Each in K]: LineReference<Each> };

/** Fields that several kinds of line have, with one meaning. */
export const common = {
  environment: "The environment, as configured.",
  requestId:
    "Ours: `Countersign-Request-Id` of the answer, and `x-request-id` of what was sent where the caller gave none.",
  reference: "The caller's own key for the order, from `Countersign-Reference`.",
  site: "`S…` of the site.",
  auth: "`oauth` or `hmac`.",
  credential: "The credential set, as `<site>/<name>`.",
  upstreamHeaders:
    "The answer's headers named in `log.upstreamHeaders`, such as the service's own request id; at most 256 characters each.",
  listener: "Where it came in, as the listener's `bind` has it.",
  isFirst: "The first of its kind for a minute. The others are written at `debug`.",
  routes: "Where each listener leads, one text each.",
} as const;
