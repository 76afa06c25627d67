import { spawnSync } from "node:child_process";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { isLeftOut } from "./left-out.ts";

const executablePath = spawnSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).stdout.trim();

/** Whether Debian's Chromium is installed on this machine. */
export const hasChromium = !isLeftOut("chromium");

/** Starts Chromium without a window. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath });
}

/** A page in a browser, and everything else that happened during its display. */
export interface Visit {
  readonly page: Page;
  /** Requests beyond the page itself; none of them was let through. */
  readonly otherRequests: readonly string[];
  /** Errors, broken policies, dialogs: everything that a console or a dialog shows. */
  readonly complaints: readonly string[];
}

/** Opens a page with scripts off and the network closed, except for the page itself. Ends with the test. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options });
  onTestFinished(() => context.close());
  const otherRequests: string[] = [];
  const complaints: string[] = [];
  await context.route("**", async (route) => {
    const asked = route.request().url();
    if (asked === url) return route.continue();
    otherRequests.push(asked);
    return route.abort();
  });
  const page = await context.newPage();
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", ({ message }) => complaints.push(message));
  page.on("dialog", (dialog) => complaints.push(dialog.message()));
  await page.goto(url);
  return { page, otherRequests, complaints };
}
