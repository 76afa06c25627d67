/**
 * The status port answers to this machine's own names. Without that, a web site that somebody visits could point its own
 * name at 127.0.0.1 and read what is shown here (DNS rebinding).
 */
import { describe, expect, it } from "vitest";
import { isOwnHost } from "../../../src/adapters/http-server/read-only-server.ts";
import { get } from "../../../testkit/call.ts";
import { readAnswer, sendRaw } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";

const advice = "Use localhost or an IP address";
const from = (host: string) => ({ headers: { host } });

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
    const { statusUrl } = await stageProxy();
    expect((await get(statusUrl, "/", from("localhost:9000"))).status).toBe(200);
    expect((await get(statusUrl, "/status", from("10.0.0.5:7413"))).status).toBe(200);
    for (const path of ["/", "/live", "/status", "/nothing"]) {
      const { status, text } = await get(statusUrl, path, from("evil.example:7413"));
      expect([path, status]).toEqual([path, 403]);
      expect(text).toContain(advice);
    }
    expect((await get(statusUrl, "/status", { ...from("evil.example"), method: "POST" })).status).toBe(403);
  });

  it("shows nothing to who names no host at all", async () => {
    const { statusUrl } = await stageProxy();
    const answer = await sendRaw(Number(new URL(statusUrl).port), "GET /status HTTP/1.0\r\n\r\n");
    expect(readAnswer(answer)).toMatchObject({ status: 403, body: expect.stringContaining(advice) });
  });

  it("tells browsers to run, frame, keep and pass on nothing", async () => {
    const { statusUrl } = await stageProxy();
    for (const path of ["/", "/live", "/status", "/nothing"]) {
      const { headers } = await get(statusUrl, path);
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
      });
      const policy = String(headers["content-security-policy"]).split("; ");
      const none = ["default-src", "base-uri", "form-action", "frame-ancestors"].map((what) => `${what} 'none'`);
      expect(policy).toEqual(expect.arrayContaining(none));
      expect(policy.join()).not.toMatch(/unsafe|script-src|\*/);
      expect(headers).not.toHaveProperty("access-control-allow-origin");
    }
  });

  it("does not reload itself at /, and does at /live", async () => {
    const { statusUrl } = await stageProxy();
    const refresh = '<meta http-equiv="refresh" content="5">';
    const [still, live] = await Promise.all([get(statusUrl, "/?refresh=5"), get(statusUrl, "/live")]);
    expect(still.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(still.text).not.toContain("http-equiv");
    expect(still.text).toContain('<a href="/live">');
    expect(live.text).toContain(refresh);
    expect(live.text).toContain('<a href="/">stop</a>');
  });
});
