import { z } from "zod";
import { callerTokenSource, listOf, matching, parsed, plainName, text } from "./fields.ts";
import { bindPattern, readBind } from "./values.ts";

export const bind = (example: string) =>
  parsed(readBind, { pattern: bindPattern, example }).describe(
    "`address:port`, `:port` for every address, or `unix:/path`. Port 0 takes a free one.",
  );

export const host = matching(/^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)$/, "write a host's name without a port");

const callers = z
  .union(
    [
      z.literal("anyone").describe("Everyone who can reach the listener; for a network policy that decides instead."),
      z
        .strictObject({
          tokens: listOf(callerTokenSource, 1).describe(
            "Tokens that callers give in Proxy-Authorization (`Bearer`, or `Basic` with it as the password); several while one replaces another. A `name` beside `file` or `env` says in the log who called; without one it is the file's or the variable's own name.",
          ),
        })
        .describe("Callers prove themselves with a token."),
      z
        .strictObject({
          mtls: z
            .strictObject({
              caFile: text.describe(
                "PEM file of the authorities that callers' certificates must come from; no others count.",
              ),
              certFile: text.describe("PEM file of the listener's own certificate."),
              keyFile: text.describe("PEM file of its key, without a passphrase."),
            })
            .describe("The files for TLS with callers."),
        })
        .describe("Callers come over TLS and prove themselves with a certificate."),
    ],
    { error: "write anyone, { tokens: [ { file: /path } ] } or { mtls: { caFile, certFile, keyFile } }" },
  )
  .describe(
    "Who may call, which a listener beyond loopback or a Unix socket has to say: `tokens`, `mtls`, or the written word `anyone`.",
  );

export const listenerSchema = z
  .strictObject({
    bind: bind("127.0.0.1:7411"),
    environment: plainName.describe("The environment that everything on this listener belongs to."),
    hosts: listOf(host)
      .default([])
      .describe("Host names accepted beside loopback names, the bind address and the baseUrl's host."),
    callers: callers.optional(),
  })
  .describe("A place where applications call.");

export type RawListener = z.output<typeof listenerSchema>;
