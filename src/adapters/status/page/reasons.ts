import type { RefreshReason } from "../../../model/events.ts";

/** Why a token was asked for, as the end of a sentence. */
export const because: Readonly<Record<RefreshReason, string>> = {
  start: "at the start",
  missing: "because there was none",
  due: "because the last one was due",
  expired: "because the last one had expired",
  unauthorized: "because the service answered 401",
  redis_recovered: "because Redis was back",
  reload: "because the configuration changed",
};
