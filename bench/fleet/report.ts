import type { Column } from "../table.ts";
import type { LifeRow } from "./simulation.ts";

export const columns: readonly Column<LifeRow, number>[] = [
  { title: "lifetime", width: 8, show: ({ life }) => `${life}` },
  { title: "phase", width: 9, show: ({ phase }) => phase },
  { title: "minutes", width: 8, show: ({ lengthMs }) => (lengthMs / 60_000).toFixed(1) },
  { title: "restarts", width: 9, show: ({ restarts }) => `${restarts}` },
  { title: "Redis away", width: 11, show: ({ redisAwayMs }) => `${Math.round(redisAwayMs / 1_000)} s` },
  { title: "tokens", width: 7, show: ({ tokenRequests }) => `${tokenRequests}` },
  { title: "commands", width: 9, show: ({ commands }, replicas) => (commands / replicas).toFixed(2) },
  { title: "most", width: 5, show: ({ mostCommands }) => `${mostCommands}` },
  { title: "orders", width: 7, show: ({ orders }) => `${orders}` },
  { title: "failures", width: 9, show: ({ failures }) => `${failures}` },
  { title: "longest wait", width: 13, show: ({ longestWaitMs }) => `${Math.round(longestWaitMs)} ms` },
];

/** What the columns mean. */
export const legend = `A lifetime here is a token's: from its request until the next one that is not premature. tokens: token requests of the whole
fleet. commands: Redis commands per replica, counted by Redis (those that clients send, greetings included); most: by the one
replica that sent most, counted by its client. longest wait: of an order for its token.`;
