import { expect, it } from "vitest";
import { callersAuthority, paymentsCertificate } from "../../../testkit/caller-certificates.ts";
import { expiredCertificate, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { diagnose } from "./doctor-run.ts";
import { environmentOf, openFolder, startService } from "./doctor-setup.ts";

// What the doctor says of callers: who they are, and whether the certificates of their listener are valid.

const mtls = "mtls: { caFile: ca, certFile: cert, keyFile: key }";

async function diagnoseCallers(listener: string, files: Readonly<Record<string, string>> = {}) {
  const { folder, write } = await openFolder();
  const all = { ca: callersAuthority, cert: serverCertificate, key: serverKey, ...files };
  for (const [name, content] of Object.entries(all)) folder.write(name, content);
  const service = await startService();
  const file = write({ environments: { sandbox: environmentOf(service) }, listener: `, ${listener}` });
  return diagnose(file, { withToken: false });
}

it("counts callers by token and their rights", async () => {
  const rights = "sites: [S1], requestsPerSecond: 5";
  const callers = `callers: { a: { token: { file: DIR/main }, ${rights} }, b: { token: { file: DIR/green } } }`;
  const { hasFailed, of } = await diagnoseCallers(callers);
  expect(hasFailed).toBe(false);
  expect(of("caller")).toEqual([
    expect.stringMatching(/^ok unix:.*: 2 by token: 1 with sites or operations of its own, 1 with requestsPerSecond$/),
  ]);
});

it("says that the form of before lets everybody in", async () => {
  const { of } = await diagnoseCallers(`callers: { ${mtls} }`);
  expect(of("caller")[0]).toMatch(/: every certificate of its authorities comes in$/);
  expect(of("config").join("\n")).toMatch(
    /every certificate of these authorities comes in, and may do everything \| name/,
  );
});

it("looks at the listener's certificate and its authorities", async () => {
  const callers = `${mtls}, callers: { a: { certificate: a.example } }`;
  const { hasFailed, of } = await diagnoseCallers(callers);
  expect(hasFailed).toBe(false);
  expect(of("caller").slice(1)).toEqual([
    expect.stringMatching(/^ok unix:.* certificate: CN=localhost, valid for another \d+ days$/),
    expect.stringMatching(/^ok unix:.* authority: CN=Countersign callers CA, valid for another \d+ days$/),
  ]);
});

it("fails where one has expired, and warns of an authority that is none", async () => {
  const callers = `${mtls}, callers: { a: { certificate: a.example } }`;
  const expired = await diagnoseCallers(callers, { cert: expiredCertificate });
  expect(expired.hasFailed).toBe(true);
  expect(expired.of("caller")[1]).toMatch(
    /^fail .* certificate: CN=localhost expired \d+ days ago: .* \| renew mtls.certFile$/,
  );
  const pair = { ca: `${callersAuthority}${paymentsCertificate}`, key: serverKey };
  expect((await diagnoseCallers(callers, pair)).of("caller")[3]).toMatch(
    /^warn .* authority: URI:spiffe:.* is no authority: it vouches for itself alone \| give the authority's/,
  );
});
