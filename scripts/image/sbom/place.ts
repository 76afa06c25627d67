/** Where the bill of materials lies in an image. Scanners look for names that end so. */
export const billPath = "/usr/local/share/sbom/countersign.cdx.json";
