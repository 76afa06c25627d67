/** A request as sent, and the results that a reader of requests must have for it. */
export type Row = readonly [name: string, text: string, expected: readonly string[]];

export const next = "GET /next HTTP/1.1\r\n\r\n";
export const nextSeen = "GET /next 1.1: ";
export const post = (lines: string, body = "") => `POST /a HTTP/1.1\r\n${lines}\r\n${body}`;
/** Whole requests, as `method target version: body`; or the part that has begun. */
export const sound = (name: string, text: string, ...expected: string[]) => [name, text, expected] as const;
/** Refused requests, with the code of the fault. */
export const refused = (name: string, text: string, fault: string) =>
  [name, text, [fault.startsWith("HPE") ? `400 ${fault}` : `400 HPE_INVALID_${fault}`]] as const;
export const line = (bytes: string) => `${bytes}\r\nHost: a\r\n\r\n`;
export const header = (bytes: string) => post(`Host: a\r\n${bytes}`);
export const chunked = (body: string) => post("Transfer-Encoding: chunked\r\n", body);
export const seen = (body: string) => `POST /a 1.1: ${body}`;
