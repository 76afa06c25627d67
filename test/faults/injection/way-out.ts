import { createServer } from "node:https";
import { type ForwardProxy, startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { listen } from "../../../testkit/listen.ts";
import { places, serviceCertificate, serviceName } from "../../promises/egress/stage.ts";

/** A service over TLS that only a forward proxy reaches, and answers every order with 200. */
export async function startWayOut(): Promise<ForwardProxy> {
  const service = createServer(serviceCertificate, (request, response) => {
    request.resume().on("end", () => response.end("{}"));
  });
  const port = await listen(service);
  return startForwardProxy({ hosts: { [places.api]: port } });
}

/** An environment of its own that goes that way; `DIR` stands for the folder of the secrets. */
export function environmentThrough({ url }: ForwardProxy): string {
  const keys = "[ { identifier: K2000000009, secret: { file: DIR/k2 } } ]";
  const sites = `{ S1000000009: { keys: ${keys} } }`;
  const egress = `{ proxy: "${url}" }`;
  return `{ baseUrl: "https://${serviceName}", operations: [create_order], tls: { caFile: DIR/authority }, egress: ${egress}, sites: ${sites} }`;
}
