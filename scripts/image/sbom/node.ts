/** Node.js, and what is compiled into it: what `process.versions` of that very program says. */
import { type Component, packageUrl } from "./component.ts";

/** Numbers of interfaces, not of anything that is in there; and Node itself. */
const notParts = ["node", "modules", "napi"];

/** Those that the npm registry has under this name too. */
const npmNames: Readonly<Record<string, string>> = {
  acorn: "acorn",
  amaro: "amaro",
  cjs_module_lexer: "cjs-module-lexer",
  undici: "undici",
};

/** Vendor and product in the National Vulnerability Database, by which scanners find what has no package. */
const products: Readonly<Record<string, string>> = {
  ares: "c-ares:c-ares",
  brotli: "google:brotli",
  icu: "icu-project:international_components_for_unicode",
  llhttp: "llhttp:llhttp",
  nghttp2: "nghttp2:nghttp2",
  node: "nodejs:node.js",
  openssl: "openssl:openssl",
  sqlite: "sqlite:sqlite",
  undici: "nodejs:undici",
  uv: "libuv:libuv",
  v8: "google:v8",
  zlib: "zlib:zlib",
  zstd: "facebook:zstandard",
};

/** @param sha256 of the program's file */
export function nodeItself(versions: Readonly<NodeJS.ProcessVersions>, sha256: string): Component {
  return {
    ...describe("node", versions.node, "application"),
    supplier: { name: "OpenJS Foundation" },
    hashes: [{ alg: "SHA-256", content: sha256 }],
    licenses: [{ license: { id: "MIT" } }],
  };
}

export function partsOfNode(versions: Readonly<NodeJS.ProcessVersions>): Component[] {
  return Object.entries(versions).flatMap(([name, version]) =>
    // Empty: this build of Node goes without it.
    version === undefined || version === "" || notParts.includes(name) ? [] : [describe(name, version, "library")],
  );
}

function describe(name: string, version: string, type: "application" | "library"): Component {
  const npmName = npmNames[name];
  const purl = npmName === undefined ? packageUrl("generic", name, version) : packageUrl("npm", npmName, version);
  const product = products[name];
  // Node marks its copies: 1.3.1-e00f703, 3.5.4+quic.
  const plain = /^[\d.]*\d[a-z]?/.exec(version)?.[0] ?? version;
  return {
    type,
    "bom-ref": type === "library" ? `node#${purl}` : purl,
    name: npmName ?? name,
    version,
    ...(product === undefined ? {} : { cpe: `cpe:2.3:a:${product}:${plain}:*:*:*:*:*:*:*` }),
    purl,
  };
}
