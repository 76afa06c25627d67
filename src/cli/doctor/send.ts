import { randomUUID } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { systemDependencies } from "../../app/dependencies.ts";
import { openTokens } from "../../app/token-sources.ts";
import type { Environment } from "../../model/environment.ts";
import type { Event } from "../../model/events.ts";
import { problemOf, serveOne } from "../serve-one.ts";
import { type Check, type CheckResult, type Explanations, explain, fail, type OpenRun, ok, timed } from "./check.ts";

/** Sends the one real request that was asked for as `serve` would, and says what came of it. */
export async function checkSend(run: OpenRun): Promise<Check[]> {
  const { chosen } = run;
  if (chosen === undefined) return [];
  const { sendTo, tokenEndpointOf } = run.upstreams;
  const { environment, operation } = chosen;
  const send = sendTo(environment);
  const about = { topic: "send" as const, environment: environment.name, subject: operation };
  const sent = timed(run, about, async () => {
    // Tokens of the other environments are not asked for.
    const config = { ...run.config, environments: new Map([[environment.name, environment]]) };
    const tokens = openTokens(tokenEndpointOf, () => {}, systemDependencies);
    await tokens.prepare(config);
    tokens.commit(config);
    try {
      let key: string | undefined;
      const report = (event: Event) => {
        if (event.kind === "request_finished") key = event.key;
      };
      const parts = { send, tokensOf: tokens.tokensOf, report, newRequestId: randomUUID };
      const response = await serveOne(chosen, environment, config, parts);
      if (response === undefined) return fail("it was not answered", "see the lines above");
      if (response.isLocal) {
        const { status, code, detail } = problemOf(response);
        return fail(
          `Countersign answers ${status} ${code}: ${detail}`,
          "docs/reference/errors.md has each code, with what to do",
        );
      }
      const { status, body } = response;
      const isWhole = body instanceof Uint8Array || (await isReadable(body));
      const result = isWhole
        ? judgeAnswer(status, environment)
        : fail(`its answer, ${status}, broke off`, "see what stands in between");
      return { ...result, answered: { key } };
    } finally {
      await tokens.close();
    }
  });
  return [await sent];
}

function isReadable(body: AsyncIterable<Uint8Array>): Promise<boolean> {
  return buffer(body).then(
    () => true,
    () => false,
  );
}

function judgeAnswer(status: number, { name }: Environment): CheckResult {
  if (status < 400) return ok(`the service answers ${status}`);
  const fix = "the service's answer says more: send the same through serve";
  const detail = `the service answers ${status}`;
  return explain(refusals, String(status), { status, path: `environments.${name}` }) ?? fail(detail, fix);
}

/** Where the service's interface does not say what a status means, the text says that it guesses. */
const refusals: Explanations = {
  401: "the service answers 401: it does not accept the token or the signature | compare audience and key with the portal of this very environment",
  403: "the service answers 403: it does not allow this site or operation | see in the portal what the site may do",
  404: "the service answers 404: it does not know the path | correct the path in $path.baseUrl, or the operation",
  "400|422":
    "the service answers $status: it does not accept the parameters, or with HMAC the key or the signature | compare the key and its version with the portal, then the parameters",
  429: "the service answers 429: it gets too many requests | try again later",
  "5..": "the service answers $status: it fails, and the request may have had an effect | see the service's own state",
};
