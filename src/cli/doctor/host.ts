import type { Address, Environment } from "../../model/environment.ts";

/** A host that requests go to. */
export interface Host {
  readonly environment: Environment;
  readonly address: Address;
  /** Which setting names it, e.g. `environments.sandbox.baseUrl`. */
  readonly setting: string;
  /** Without the brackets of IPv6. */
  readonly name: string;
}

export function hostOf(environment: Environment, key: "baseUrl" | "authUrl", address: Address): Host {
  const name = address.host.replace(/^\[|\]$/g, "");
  return { environment, address, setting: `environments.${environment.name}.${key}`, name };
}
