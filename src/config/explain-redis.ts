import { describeBind } from "../model/bind.ts";
import type { HostPort, RedisAccess, RedisPlace } from "../model/redis-access.ts";
import type { Secret } from "../model/secret.ts";
import { describeRedisNode } from "./redis-values.ts";

/**
 * The section `redis` as it is in force.
 * @param mask says where a secret came from instead of what it is
 */
export function explainRedis(access: RedisAccess, mask: (secret: Secret) => string): object {
  const { place, lockNodes, username, password, tls, encryptionKeys } = access;
  return {
    ...explainPlace(place, mask),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: mask(password) }),
    ...(tls === undefined
      ? {}
      : { tls: { privateCa: tls.ca !== undefined, clientCertificate: tls.cert !== undefined } }),
    lockNodes: lockNodes.map(describeRedisNode),
    encryptionKeys: encryptionKeys.map(mask),
  };
}

function explainPlace(place: RedisPlace, mask: (secret: Secret) => string): object {
  const describe = (node: HostPort) => describeBind({ kind: "tcp", ...node });
  switch (place.kind) {
    case "standalone":
      return { url: describeRedisNode(place.node) };
    case "sentinel": {
      const { master: name, nodes, password } = place;
      return {
        sentinel: { name, nodes: nodes.map(describe), ...(password === undefined ? {} : { password: mask(password) }) },
      };
    }
    case "cluster":
      return { cluster: { nodes: place.nodes.map(describe) } };
  }
}
