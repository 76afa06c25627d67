// Draws docs/images/status-page.png: the top of the status page on a bad night, as Debian's Chromium shows it. Then make it smaller:
// pngquant --strip --ext .png --force docs/images/status-page.png
import { renderPage } from "../src/adapters/stats/page/render-page.ts";
import { badNight } from "../test/unit/status-snapshot.ts";
import { launchChromium } from "../testkit/chromium.ts";

const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1_100, height: 800 }, colorScheme: "light" });
await page.setContent(renderPage(badNight, "127.0.0.1:7413", 10).html);
const { y = 800 } = (await page.getByRole("region", { name: "Requests", exact: true }).boundingBox()) ?? {};
const clip = { x: 0, y: 0, width: 1_100, height: y };
await page.screenshot({ path: "docs/images/status-page.png", fullPage: true, clip });
await browser.close();
