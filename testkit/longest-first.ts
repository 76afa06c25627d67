import { existsSync } from "node:fs";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take 15 s and more on two processors, longest first. If such a file began last, the run would wait for it alone. */
const long: readonly string[] = [
  "test/faults/soak.redis.test.ts",
  "test/load/holds-little-for-each-connection.redis.test.ts",
  "test/faults/injection/every-await-and-emitter.redis.test.ts",
  "test/clients/outwait-countersign.test.ts",
  "test/clients/do-what-the-page-says.test.ts",
  "test/fleet/redis/delivers-a-callback-once.test.ts",
  "test/fleet/redis/replaces-revoked-tokens-again-and-again.test.ts",
  "test/fleet/redis/replaces-a-dead-token-beside-bad-orders.test.ts",
  "test/fleet/wire/verified-by-another-program.test.ts",
  "test/faults/is-back-at-once-after-a-kill.redis.test.ts",
  "test/fleet/redis/shares-its-back-off-towards-the-authorization-server.test.ts",
  "test/fleet/redis/sends-once-from-all-replicas.test.ts",
  "test/fleet/wire/breaks-at-ten-thousand-points.test.ts",
  "test/fleet/redis/survives-a-troubled-authorization-server.test.ts",
  "test/faults/outlives-idle-connections.test.ts",
  "test/fleet/redis/spares-an-authorization-server-with-many-sets.test.ts",
  "test/fleet/redis/confirms-keys-on-a-replica.test.ts",
  "test/fleet/redis/survives-failovers-and-outages-of-redis.test.ts",
  "test/faults/serves-with-the-old-token-until-the-new-secret-has-one.test.ts",
  "test/faults/agrees-with-its-caller-though-stopped.test.ts",
  "test/fleet/redis/takes-every-redis-error-as-a-miss.test.ts",
  "test/docs/practise.test.ts",
  "test/promises/process/outlives-the-reader-of-its-log.test.ts",
  "test/fleet/wire/outcomes-through-a-bad-network.test.ts",
  "test/promises/cli/demo.test.ts",
  "test/promises/observability/status-page.test.ts",
  "test/unit/oauth/401s-at-random.test.ts",
  "test/promises/proxy/shows-where-an-answer-was-cut.test.ts",
  "test/promises/process/answers-before-it-ends-early.test.ts",
  "test/promises/proxy/any-callers-meet-any-service.test.ts",
  "test/docs/try-it.test.ts",
  "test/unit/oauth/many-sets-at-one-address.test.ts",
  "test/promises/cli/check.test.ts",
  "test/promises/proxy/passes-the-first-401-on-when-no-retry-helps.test.ts",
  "test/platform/image/images.test.ts",
  "test/platform/prometheus/alerts.test.ts",
];

/**
 * Sorts the files of each group, the longest first. Vitest remembers how long they took in the last run. Without a last run, as
 * in CI, Vitest begins with the largest files, which are seldom the longest.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const gone = long.filter((file) => !existsSync(`${root}/${file}`));
    if (gone.length > 0) throw new Error(`testkit/longest-first.ts names what is not there: ${gone.join(", ")}`);
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = long.indexOf(relative(root, moduleId));
      return place === -1 ? long.length : place;
    };
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => groupOf(one) - groupOf(other) || placeOf(one) - placeOf(other));
  }
}
