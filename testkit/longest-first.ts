import { existsSync } from "node:fs";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take 15 s and more on two processors, longest first. The last to begin, each would keep one of them waiting. */
const long: readonly string[] = [
  "test/demo/demo-fleet.test.ts",
  "test/clients/do-what-the-page-says.test.ts",
  "test/image/images.test.ts",
  "test/soak/soak.test.ts",
  "test/redis/asks-once-for-a-refused-set.test.ts",
  "test/faults/every-await-and-emitter.test.ts",
  "test/redis/keeps-401-for-ever-from-costing-tokens.test.ts",
  "test/clients/outwait-countersign.test.ts",
  "test/redis/survives-a-slow-authorization-server.test.ts",
  "test/reload/serves-with-the-old-token-until-the-new-secret-has-one.test.ts",
  "test/redis/takes-every-redis-error-as-a-miss.test.ts",
  "test/process/agrees-with-its-caller-though-stopped.test.ts",
  "test/load/outlives-idle-connections.test.ts",
  "test/redis/shares-its-back-off-towards-the-authorization-server.test.ts",
  "test/prometheus/alerts.test.ts",
  "test/wire/outcomes-through-a-bad-network.test.ts",
  "test/redis/is-back-at-once-after-a-kill.test.ts",
  "test/redis/starts-with-everything-down.test.ts",
  "test/docs/operations-doc.test.ts",
  "test/redis/survives-a-failover-that-loses-everything.test.ts",
  "test/wire/breaks-at-ten-thousand-points.test.ts",
  "test/wire/verified-by-another-program.test.ts",
  "test/redis/rejoins-after-an-outage.test.ts",
  "test/redis/delivers-a-callback-once.test.ts",
];

/**
 * The files of each group, the longest first. Vitest knows how long they took the last time, and where there was no last
 * time, as in CI, begins with the largest, which are seldom the longest.
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
