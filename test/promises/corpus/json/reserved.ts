import { type Document, siteIdentifier, taken, unfit } from "./document.ts";

const dropped: readonly string[] = [
  ...['{"signature":"x"}', '{"signature":""}', '{"signature":1}', '{"signature":true}', '{"timestamp":"0"}'],
  ...['{"timestamp":1700000000}', '{"timestamp":"tomorrow"}', '{"timestamp":"","signature":""}'],
  ...['{"timestamp":1e999999999}'],
  `{"signature":"${"0".repeat(64)}"}`,
  String.raw`{"\u0073ignature":"x"}`,
];

const otherVersions = ['"2.0"', '"1.8"', '"3"', "3", "3.00", '"3.0 "', '""', "true", '"v3.0"', '"4.0"', '"３.0"'];

/** The names that the proxy owns, and those that are never signed (spec 5.2 step 1), given by the caller. */
export const reserved: readonly Document[] = [
  ...dropped.map((text) => taken(`dropped: ${text.slice(0, 60)}`, text, [])),
  taken("timestamp and signature among others", '{"z":"1","timestamp":"1","a":"2","signature":"x","m":"3"}', [
    ["z", "1"],
    ["a", "2"],
    ["m", "3"],
  ]),
  taken("the same version", '{"version":"3.0"}', []),
  taken("the same version as a number", '{"version":3.0}', []),
  taken("the same version with an exponent", '{"version":0.30e1}', []),
  taken("the same version among others", '{"b":"1","version":"3.0","a":"2"}', [
    ["b", "1"],
    ["a", "2"],
  ]),
  ...otherVersions.map((version) => unfit("version_mismatch", `version ${version}`, `{"version":${version}}`)),
  taken("the same site", `{"site_identifier":"${siteIdentifier}"}`, []),
  ...["K2000000001", "K2000000002"].map((identifier) => ({
    ...taken(`the key ${identifier}`, `{"site_identifier":"${identifier}","a":"1"}`, [["a", "1"]]),
    identifier,
  })),
  unfit("site_conflict", "another site", '{"site_identifier":"S1000000001"}'),
  taken("what is never signed", '{"format":"json","call":"create_order","secret_key_name":"x"}', [
    ["format", "json"],
    ["call", "create_order"],
    ["secret_key_name", "x"],
  ]),
  taken("names close to the reserved ones", '{"Signature":"1","TIMESTAMP":"2","versions":"3","site_identifier_":"4"}', [
    ["Signature", "1"],
    ["TIMESTAMP", "2"],
    ["versions", "3"],
    ["site_identifier_", "4"],
  ]),
];
