import { createServer, type TlsOptions } from "node:tls";
import { authority, clientCertificate, clientKey } from "../../../testkit/certificates.ts";
import { listen } from "../../../testkit/listen.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { diagnose } from "./doctor-run.ts";
import { openFolder } from "./doctor-setup.ts";

/** What was said to a TLS host once a handshake was done, all of it. */
export async function startTlsHost(options: TlsOptions) {
  let said = "";
  const server = createServer(options, (socket) => {
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        said += chunk;
        socket.end(rawAnswer(404, "", `Date: ${new Date().toUTCString()}\r\n`));
      });
  });
  const port = await listen(server.on("tlsClientError", () => {}));
  return { url: `https://localhost:${port}`, said: () => said };
}

/** A host that answers with this line. */
export async function startDatedHost(date: () => string): Promise<string> {
  const { url } = await startRawUpstream({ answer: (_, socket) => void socket.end(rawAnswer(200, "", date())) });
  return url;
}

export const dateIn = (ms: number) => () => `Date: ${new Date(Date.now() + ms).toUTCString()}\r\n`;

let keys = 0;

/** An environment that signs, so that only its service is checked; no two have anything in common. */
export function environmentAt(baseUrl: string, more = ""): string {
  keys += 1;
  const sites = `sites: { S${keys}: { keys: [ { identifier: K${keys}, secret: { file: DIR/own/${keys} } } ] } }`;
  return `baseUrl: "${baseUrl}", authUrl: "https://login-${keys}.invalid", allowPlaintext: true, ${sites}, ${more}`;
}

export async function diagnoseAll(environments: Readonly<Record<string, string>>) {
  const { folder, write } = await openFolder();
  for (let number = 1; number <= keys; number += 1) folder.write(`own/${number}`, `canary-own-secret-${number}`);
  folder.write("ca", authority);
  folder.write("client.pem", clientCertificate);
  folder.write("client-key.pem", clientKey);
  return diagnose(write({ environments }));
}
