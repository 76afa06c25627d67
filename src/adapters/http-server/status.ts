import type { Server } from "node:http";
import { createReadOnlyServer, isOwnHost, type Page } from "./read-only-server.ts";

/** What the status port shows. Redacted by its makers. */
export interface StatusViews {
  /** What is configured, how each token stands, what failed. */
  snapshot(): object;
  /**
   * The same for people.
   * @param refreshSeconds how often the browser is to load it anew; never, where none is given
   */
  page(refreshSeconds?: number): HtmlPage;
}

export interface HtmlPage {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

const refreshSeconds = 5;

/**
 * `/status` as JSON and `/` as a page. `/` stands still: a page that loads itself anew drops a selection while a person
 * copies a reference, and makes a screen reader start again. `/live` is for a screen on the wall.
 */
export function createStatus({ snapshot, page }: StatusViews): Server {
  const pages = {
    "/": async () => asPage(page()),
    "/live": async () => asPage(page(refreshSeconds)),
    "/status": async () => ({
      status: 200,
      contentType: "application/json",
      text: `${JSON.stringify(snapshot(), null, 2)}\n`,
    }),
  };
  return createReadOnlyServer(pages, (_, host) => isOwnHost(host));
}

function asPage({ html, contentSecurityPolicy }: HtmlPage): Page {
  return { status: 200, contentType: "text/html; charset=utf-8", text: html, contentSecurityPolicy };
}
