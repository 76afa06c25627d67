/**
 * The status port answers to this machine's own names. Without that, a web site that somebody visits could point its own
 * name at 127.0.0.1 and read what is shown here (DNS rebinding).
 */
import { describe, expect, it } from "vitest";
import { isOwnHost } from "../../../src/adapters/http-server/read-only-server.ts";
import { call } from "../../../testkit/call.ts";
import { readAnswer, sendRaw } from "../../../testkit/raw-caller.ts";
import { type Stage, stageProxy } from "../../../testkit/stage.ts";

const advice = "Use localhost or an IP address";

function get({ statusUrl }: Pick<Stage, "statusUrl">, path: string, host?: string, method = "GET") {
  return call(statusUrl, "", { method, path, ...(host === undefined ? {} : { headers: { host } }) });
}

describe("row 60: the status port", () => {
  it.each(["localhost", "LOCALHOST:9000", "127.0.0.1", "127.8.8.8:1", "10.0.0.5:7413", "[::1]", "[fd00::7]:80"])(
    "knows %s as its own: no name server can point it elsewhere",
    (host) => expect(isOwnHost(host)).toBe(true),
  );

  it.each([
    ...["evil.example", "evil.example:7413", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", ""],
    ...["2130706433", "0x7f.1", "127.1", "[evil]", "::1", "localhost:", "localhost:x", "a@localhost", "localhost, a"],
  ])("does not know %j as its own", (host) => expect(isOwnHost(host)).toBe(false));

  it("shows itself to its own names, and nothing to others, whatever they ask for", async () => {
    const stage = await stageProxy();
    expect((await get(stage, "/", "localhost:9000")).status).toBe(200);
    expect((await get(stage, "/status", "10.0.0.5:7413")).status).toBe(200);
    for (const path of ["/", "/live", "/status", "/nothing"]) {
      const { status, text } = await get(stage, path, "evil.example:7413");
      expect([path, status]).toEqual([path, 403]);
      expect(text).toContain(advice);
    }
    expect((await get(stage, "/status", "evil.example", "POST")).status).toBe(403);
  });

  it("shows nothing to who names no host at all", async () => {
    const { statusUrl } = await stageProxy();
    const answer = await sendRaw(Number(new URL(statusUrl).port), "GET /status HTTP/1.0\r\n\r\n");
    expect(readAnswer(answer)).toMatchObject({ status: 403, body: expect.stringContaining(advice) });
  });

  it("tells browsers to run, frame, keep and pass on nothing", async () => {
    const stage = await stageProxy();
    for (const path of ["/", "/live", "/status", "/nothing"]) {
      const { headers } = await get(stage, path);
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
      });
      const policy = String(headers["content-security-policy"]).split("; ");
      expect(policy).toEqual(
        expect.arrayContaining([
          "default-src 'none'",
          "base-uri 'none'",
          "form-action 'none'",
          "frame-ancestors 'none'",
        ]),
      );
      expect(policy.join()).not.toMatch(/unsafe|script-src|\*/);
      expect(headers).not.toHaveProperty("access-control-allow-origin");
    }
  });

  it("does not reload itself at /, and does at /live", async () => {
    const stage = await stageProxy();
    const refresh = '<meta http-equiv="refresh" content="5">';
    const [still, live] = await Promise.all([get(stage, "/?refresh=5"), get(stage, "/live")]);
    expect(still.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(still.text).not.toContain("http-equiv");
    expect(still.text).toContain('<a href="/live">');
    expect(live.text).toContain(refresh);
    expect(live.text).toContain('<a href="/">stop</a>');
  });
});
