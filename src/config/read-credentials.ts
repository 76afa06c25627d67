import type { CredentialSet, Credentials } from "../model/environment.ts";
import type { Reading } from "./load-context.ts";
import type { Path } from "./problem.ts";
import type { RawCredentials } from "./site-schema.ts";

/** Spec 2.3. */
const mostSets = 2;

/** Reads the OAuth credential sets configured at a site; undefined where none of them is sound. */
export async function readCredentials(
  owner: string,
  raw: readonly RawCredentials[],
  path: Path,
  reading: Reading,
): Promise<Credentials | undefined> {
  if (raw.length > mostSets) {
    const message = "a site holds at most two credential sets (spec 2.3)";
    reading.findings.refuse(path, message, "remove the others", `${raw.length} sets`);
  }
  const sets: CredentialSet[] = [];
  for (const [index, given] of raw.entries()) {
    const at: Path = [...path, index];
    const earlier = raw.findIndex(({ name }) => name === given.name);
    if (earlier < index) {
      const from = [earlier, index].map((each) => [...path, each, "name"]);
      const message = "another set of the site has this name";
      reading.findings.conclude(from, [...at, "name"], message, "give each its own name");
    }
    const set = await readSet(given, owner, at, reading);
    if (set !== undefined && sets.some(({ clientId }) => clientId === set.clientId)) {
      const message = `both sets are of client ${set.clientId}: when the authorization server refuses it, the second cannot take over`;
      reading.findings.warn(
        "client_twice",
        at,
        message,
        "generate a second set and put it here, or leave this one out",
      );
    }
    if (set !== undefined) sets.push(set);
  }
  const [first, ...rest] = sets;
  return first === undefined ? undefined : { owner, sets: [first, ...rest] };
}

async function readSet(
  raw: RawCredentials,
  owner: string,
  path: Path,
  { secrets, claims }: Reading,
): Promise<CredentialSet | undefined> {
  const isFolder = "dir" in raw;
  const at = (name: string): Path => [...path, isFolder ? "dir" : name];
  const clientId = isFolder ? await secrets.text(`${raw.dir}/client-id`, at("clientId"), "client id") : raw.clientId;
  const secretSource = isFolder ? { file: `${raw.dir}/client-secret` } : raw.clientSecret;
  const clientSecret = await secrets.secret(secretSource, at("clientSecret"));
  const audience = isFolder ? await secrets.text(`${raw.dir}/audience`, at("audience"), "audience") : raw.audience;
  if (clientId === undefined || clientSecret === undefined || audience === undefined) return undefined;
  claims.push({ kind: "client id", value: clientId, path: at("clientId") });
  claims.push({ kind: "secret", value: clientSecret, path: at("clientSecret") });
  return { label: `${owner}/${raw.name}`, name: raw.name, clientId, clientSecret, audience };
}
