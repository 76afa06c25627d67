import { headersDownstream } from "../proxy/client-response.ts";
import type { ClientResponse } from "../proxy/messages.ts";
import type { ApplicationResponse } from "./application.ts";

/** The application's answer as the service gets it: status and body untouched, our identification added. */
export async function applicationReply(response: ApplicationResponse, requestId: string): Promise<ClientResponse> {
  const { status } = response;
  const body = await response.body;
  const headers = withoutLength(headersDownstream(response.headers));
  if (status !== 204 && status !== 304) headers.push("Content-Length", String(body.length));
  return { status, headers: [...headers, ...identify(requestId)], body, isLocal: false, isFramed: true };
}

/** What the sender had no answer to, the application has taken: it gets the status now. No body is kept. */
export function repetitionReply(status: number, requestId: string): ClientResponse {
  const headers = status === 204 ? [] : ["Content-Length", "0"];
  const body = new Uint8Array();
  return { status, headers: [...headers, ...identify(requestId)], body, isLocal: true, isFramed: true };
}

function identify(requestId: string): string[] {
  return ["Countersign-Request-Id", requestId, "Countersign-Outcome", "answered"];
}

/** The body is whole, so its length is known. */
function withoutLength(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? "";
    if (name.toLowerCase() !== "content-length") kept.push(name, headers[index + 1] ?? "");
  }
  return kept;
}
