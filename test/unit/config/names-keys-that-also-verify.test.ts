/** Row 86: which keys verify callbacks beside the default one, and until when. */
import { expect, test } from "vitest";
import { explain } from "../../../src/config/explain.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { fault, inSite3, itRefuses, key, site3 } from "./refusal.ts";

const spare = "          - { identifier: K2000000002, secret: { file: DIR/main } }\n";
const defaultKey = key.replace(" } }", " }, default: true }");
const rotating = (entry: string) => inSite3(`alsoVerifyWith: [ ${entry} ]`).replace(key, `${defaultKey}${spare}`);

const verifying = `${site3}.alsoVerifyWith[0]`;
itRefuses("keys that cannot verify", [
  fault(rotating("{ key: K2000000009, until: 2099-12-31 }"), `${verifying}.key: no such key … one of its keys`),
  fault(rotating("{ key: K2000000001, until: 2099-12-31 }"), `${verifying}.key: anyway … another key`),
  fault(rotating("{ key: K2000000002, until: 2099-02-30 }"), `${verifying}.until: no day … 2026-12-31`),
  fault(rotating("{ key: K2000000002 }"), `${verifying}.until: missing`),
]);

test("a key verifies to the end of its last day, in UTC", async () => {
  const until = "2026-11-22";
  const loaded = await new ConfigFolder().loadSound(rotating(`{ key: K2000000002, until: ${until} }`));
  const [further] = loaded.config.environments.get("sandbox")?.sites.get("S1000000003")?.alsoVerifyWith ?? [];
  expect(further?.key.identifier).toBe("K2000000002");
  expect(further?.untilMs).toBe(Date.parse(`${until}T00:00:00Z`) + 86_400_000);
  const shown = JSON.stringify(explain(loaded.config), (_, value) =>
    value instanceof Map ? Object.fromEntries(value) : value,
  );
  expect(shown).toContain(`"alsoVerifyWith":[{"key":"K2000000002","until":"${until}"}]`);
});
