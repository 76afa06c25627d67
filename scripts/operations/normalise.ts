/** What two good runs may differ in, and how it is written so that they do not. */
export const differences: readonly { readonly pattern: RegExp; readonly shown: string }[] = [
  { pattern: /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, shown: "<time>" },
  { pattern: /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, shown: "<request id>" },
  // Of the configuration: it covers the ports and the folder.
  { pattern: /(?<="(?:hash|previousHash)":")[0-9a-f]{12}(?=")/g, shown: "<hash>" },
  { pattern: /(?<="\w+Ms":)\d+(?:\.\d+)?/g, shown: "<ms>" },
  // It is left out where it would be 0.
  { pattern: / \(\d+ ms\)$/gm, shown: "" },
  { pattern: /(?<= (?:in|another) )\d+ s\b/g, shown: "<seconds>" },
  // Of a life of 24 h.
  { pattern: /(?<= another )2[34] h\b/g, shown: "<hours>" },
];

/** What two good runs have in common. */
export function normalise(output: string): string {
  return differences.reduce((text, { pattern, shown }) => text.replace(pattern, shown), output);
}
