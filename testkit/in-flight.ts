import { expect } from "vitest";
import { scrape } from "./exposition.ts";
import type { Stage } from "./stage.ts";

/** Waits until this many requests are being served: they were admitted, and have no access line yet. */
export async function whenInFlight({ adminUrl }: Pick<Stage, "adminUrl">, count: number): Promise<void> {
  const inFlight = async () => (await scrape(adminUrl)).sum("countersign_requests_in_flight");
  await expect.poll(inFlight, { interval: 5, timeout: 10_000 }).toBe(count);
}
