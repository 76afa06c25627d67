import type { Sighting } from "./outflow.ts";

/** A canary that is allowed to come out, and why. */
export interface Lawful extends Partial<Sighting> {
  readonly why: string;
}

/** Each exception names so much of the sighting that it excuses nothing else. */
export const lawful: readonly Lawful[] = [
  {
    outlet: "stdout",
    canary: "a signature or a key",
    file: "test/promises/cli/keygen.test.ts",
    why: "keygen prints a new key: that is what it is for",
  },
  {
    outlet: "stdout",
    canary: "a signature or a key",
    file: "test/promises/cli/waits-for-standard-input.test.ts",
    why: "sign prints a signature: that is what it is for",
  },
  {
    outlet: "stdout",
    canary: "a signature or a key",
    file: "test/promises/cli/help-examples.test.ts",
    why: "it runs the example of sign, and of the demo",
  },
  {
    outlet: "stdout",
    file: "test/clients/standard-clients-create-an-order.test.ts",
    test: "curl proves itself",
    why: "curl prints what the service answered to its own order",
  },
  {
    outlet: "stdout",
    canary: "a signature or a key",
    file: "test/promises/cli/demo.test.ts",
    why: "the demo shows what left Countersign, the signature of its made-up key included",
  },
  {
    outlet: "stdout",
    canary: "a token",
    file: "test/promises/cli/simulate.test.ts",
    why: "the simulator's log names the tokens that it made up itself",
  },
  {
    outlet: "stdout",
    canary: "a token",
    file: "test/docs/try-it.test.ts",
    why: "the simulator's log names the tokens that it made up itself",
  },
  {
    outlet: "stdout",
    canary: "a signature or a key",
    file: "test/docs/try-it.test.ts",
    test: "docs/callbacks.md",
    why: "the simulator shows the callback that it has signed with a made-up key",
  },
  {
    outlet: "stdout",
    file: "test/promises/cli/simulate.test.ts",
    test: "prints the secrets that it made up itself",
    why: "the example's secrets are made up and public, and every configuration for it needs them",
  },
];

/** The sightings that no exception covers. */
export function unlawful(sightings: readonly Sighting[], exceptions: readonly Lawful[] = lawful): Sighting[] {
  return sightings.filter((sighting) => !exceptions.some((exception) => covers(exception, sighting)));
}

function covers({ outlet, canary, file, test }: Lawful, sighting: Sighting): boolean {
  return (
    (outlet === undefined || outlet === sighting.outlet) &&
    (canary === undefined || canary === sighting.canary) &&
    (file === undefined || sighting.file.endsWith(file)) &&
    (test === undefined || sighting.test.includes(test))
  );
}
