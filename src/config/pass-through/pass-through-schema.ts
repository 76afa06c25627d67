import * as z from "zod";
import { duration, listOf, mapping, matching, siteIdentifier } from "../fields.ts";

const prefix = matching(/^\/(?:[^/?#\s]+\/)+$/, "write a path with a slash at both ends, like /files/");

/** CONNECT and TRACE never pass (RFC 9110 sections 9.3.6 and 9.3.8). */
const method = z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export const passThroughRoute = mapping("Paths whose requests pass with their bodies untouched, behind a token.", {
  prefix: prefix.describe("How their paths begin, with a slash at both ends; of several routes the longest counts."),
  upstreamPrefix: prefix
    .optional()
    .describe("How their paths begin at the baseUrl's host. Default: the baseUrl's path and the prefix."),
  methods: listOf(method, 1).describe("Methods that pass; others get 405. HEAD has to be named too."),
  site: siteIdentifier
    .optional()
    .describe("Site of requests that name none in Countersign-Site. Default: as for operations. It uses OAuth."),
  upgrade: z.enum(["websocket"]).optional().describe("Lets a GET switch to WebSocket (RFC 6455). Default: none may."),
  idleTimeout: duration("60s", 100, 3_600_000).describe(
    "How long a body, or a WebSocket, may stand still; 100ms to 3600s. timeouts.request bounds the wait for the answer's head.",
  ),
});

/** A route as it is written, with its defaults. */
export type RawPassThroughRoute = z.output<typeof passThroughRoute>;
