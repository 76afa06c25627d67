import {
  authority,
  clientCertificate,
  clientKey,
  serverKey,
  weakCertificate,
  weakKey,
} from "../../../testkit/certificates.ts";
import { fault, inSandbox, itRefuses } from "./refusal.ts";

const sound = { ca: authority, cert: clientCertificate, key: clientKey, other: serverKey };
const wrong = (settings: string, said: string, files: Partial<typeof sound> = {}) =>
  fault(inSandbox(`tls: { ${settings} }`), `.tls.${said}`, { ...sound, ...files });

const pair = "certFile: DIR/cert, keyFile: DIR/key";
const damagedSecond = `${authority}${authority.replace("MIIB", "MIIX")}`;
const endlessFirst = `${authority.replace(/-----END.*/, "")}${authority}`;

itRefuses("broken TLS files", [
  wrong("certFile: DIR/cert", "keyFile: no key … keyFile"),
  wrong("keyFile: DIR/key", "certFile: no certificate … certFile"),
  wrong("certFile: DIR/cert, keyFile: DIR/other", "keyFile: not the certificate's … certFile"),
  wrong("caFile: DIR/k1", "caFile: no certificate … PEM"),
  wrong("caFile: DIR/ca", "caFile: damaged … PEM", { ca: damagedSecond }),
  wrong("caFile: DIR/ca", "caFile: damaged … PEM", { ca: endlessFirst }),
  wrong(pair, "keyFile: no private key … passphrase", { key: clientKey.replace("MIGH", "MIGX") }),
  wrong(pair, "certFile: OpenSSL … too weak", { cert: weakCertificate, key: weakKey }),
  wrong("caFile: DIR/nothing", "caFile: ENOENT … create the file"),
]);
