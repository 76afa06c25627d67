import type { SigningKey } from "../model/environment.ts";
import type { Token } from "../oauth/token.ts";
import { stringToSign } from "../signing/canonical.ts";
import { sign } from "../signing/hmac.ts";
import { stamp } from "./enrich.ts";
import type { PreparedRequest, UpstreamRequest } from "./messages.ts";
import { serialise } from "./serialise.ts";

/** What a request proves itself with. */
export type AuthMaterial =
  | { readonly method: "hmac"; readonly key: SigningKey }
  | { readonly method: "oauth"; readonly token: Token };

/**
 * Makes one attempt of an enriched request. Each rendering carries its own timestamp and, with HMAC, a signature over
 * exactly the strings that are sent (spec 5.2); with OAuth the signature is omitted (spec 5.4).
 */
export function authenticate(
  prepared: PreparedRequest,
  material: AuthMaterial,
  unixSeconds: () => number,
): UpstreamRequest {
  const { route, parameters, headers } = prepared;
  const { environment, operation, site } = route;
  const path = `${environment.baseUrl.path}/${operation}`;
  switch (material.method) {
    case "oauth": {
      const authorization = ["authorization", `Bearer ${material.token.secret.reveal()}`] as const;
      const render = () => serialise(stamp(parameters, unixSeconds()));
      return { environment, path, headers: [...headers, authorization], render };
    }
    case "hmac": {
      const render = () => {
        const stamped = stamp(parameters, unixSeconds());
        stamped.set("signature", sign(stringToSign(stamped, site.exempt), material.key.secret));
        return serialise(stamped);
      };
      return { environment, path, headers, render };
    }
  }
}
