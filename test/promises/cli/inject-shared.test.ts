import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { classic, deployment, run } from "./inject-run.ts";

// Anchors, aliases and merge keys: one text in several places. Each place gets what it would get alone, or nothing is injected.

const url = { name: "BASE_URL", value: "http://127.0.0.1:7411" };
const database = { name: "DB", value: "db" };

const inject = (podSpec: string, args: readonly string[] = []) =>
  run(["-f", "-", "--env", "BASE_URL", ...args], deployment(podSpec));

describe("injects where all that share are to change alike, and they go on sharing", () => {
  it.each([
    {
      what: "a list that two applications have by an alias",
      podSpec: `containers:
  - { name: web, env: &env [{ name: DB, value: db }] }
  - { name: worker, env: *env }`,
      keeps: "{ name: worker, env: *env }",
    },
    {
      what: "a container that another one is made from",
      podSpec: `containers:
  - &web { name: web, env: [{ name: DB, value: db }] }
  - { <<: *web, name: worker }`,
      keeps: "{ <<: *web, name: worker }",
    },
  ])("$what", ({ podSpec, keeps }) => {
    const { exitCode, stdout, stderr } = inject(podSpec);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain(keeps);
    const { containers } = parse(stdout, { merge: true }).spec.template.spec;
    expect(containers).toEqual(["web", "worker"].map((name) => ({ name, env: [url, database] })));
    expect(run(["-f", "-", "--env", "BASE_URL"], stdout).stdout).toBe(stdout);
  });

  it.each([
    ["variables", "env: *env"],
    ["all of it", "<<: *migrate"],
  ])("an init container and an application that have the same: %s", (_, shared) => {
    const { exitCode, stdout, stderr } = inject(`initContainers:
  - &migrate { name: migrate, env: &env [{ name: DB, value: db }] }
containers:
  - { ${shared}, name: web }`);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain(`{ ${shared}, name: web }`);
    const { initContainers, containers } = parse(stdout, { merge: true }).spec.template.spec;
    expect([initContainers[1], ...containers]).toEqual(
      ["migrate", "web"].map((name) => ({ name, env: [url, database] })),
    );
  });

  it("and adds to what has a merge key but nothing of that from it", () => {
    const { stdout } = inject(`volumes:
  - &named { name: web }
containers:
  - { <<: *named, image: web }`);
    expect(parse(stdout, { merge: true }).spec.template.spec.containers).toEqual([
      { name: "web", image: "web", env: [url] },
    ]);
  });
});

describe("refuses where only some of them are to change", () => {
  it.each([
    {
      what: "an application's variables are those of an init container",
      podSpec: `initContainers:
  - { name: migrate, env: &env [{ name: DB, value: db }] }
containers:
  - { name: web, env: *env }`,
      args: classic,
      shares: "containers.web.env",
    },
    {
      what: "an init container's variables are those of an application",
      podSpec: `containers:
  - { name: web, env: &env [{ name: DB, value: db }] }
initContainers:
  - { name: migrate, env: *env }`,
      args: classic,
      shares: "initContainers.migrate.env",
    },
    {
      what: "an application is made from an init container",
      podSpec: `initContainers:
  - &migrate { name: migrate, env: [{ name: DB, value: db }] }
containers:
  - { <<: *migrate, name: web }`,
      args: classic,
      shares: "containers.web.env",
    },
    {
      what: "init containers come from elsewhere",
      podSpec: `containers: &all
  - { name: web }
initContainers: *all`,
      shares: "initContainers",
    },
    {
      what: "volumes come from elsewhere",
      podSpec: `x-pod: &pod { volumes: [{ name: a }] }
<<: *pod
containers: [{ name: web }]`,
      shares: "volumes",
    },
    {
      what: "a variable has its name from elsewhere",
      podSpec: `containers:
  - { name: web, args: [&name BASE_URL], env: [{ name: *name, value: a }] }`,
      shares: "containers.web.env",
    },
    {
      what: "another variable has the old address too",
      podSpec: `containers:
  - { name: web, env: [{ name: BASE_URL, value: &old a }, { name: OTHER, value: *old }] }`,
      shares: "containers.web.env.OTHER.value",
    },
    {
      what: "the grace period is another number",
      podSpec: `activeDeadlineSeconds: &time 60
terminationGracePeriodSeconds: *time
containers: [{ name: web }]`,
      shares: "terminationGracePeriodSeconds",
    },
    {
      what: "another number is the grace period",
      podSpec: `terminationGracePeriodSeconds: &time 60
activeDeadlineSeconds: *time
containers: [{ name: web }]`,
      shares: "activeDeadlineSeconds",
    },
  ])("$what", ({ podSpec, args, shares }) => {
    const { exitCode, stdout, stderr } = inject(podSpec, args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    const place = `spec.template.spec.${shares}`;
    expect(stderr).toMatch(`-: Deployment orders shares ${place} with another place by an alias or a merge key (<<)`);
  });

  it("or where what is replaced has the anchor", () => {
    const { exitCode, stderr } = inject(
      "initContainers: [&old { name: countersign, tty: true }]\ncontainers: [{ <<: *old, name: web }]",
    );
    expect(exitCode).toBe(2);
    expect(stderr).toContain("-: an anchor is on what is replaced, and needed elsewhere; move it: ");
  });
});

it("refuses also what an alias or a merge key says", () => {
  const { stderr } = inject("x-pod: &pod { hostNetwork: true }\n<<: *pod\ncontainers: [{ name: web }]");
  expect(stderr).toContain("Deployment orders has hostNetwork");
});

it.each([
  { what: "an alias of nothing", podSpec: "containers: *all", says: "Unresolved alias" },
  {
    what: "a merge of no mapping",
    podSpec: "<<: all\ncontainers: [{ name: web }]",
    says: "Merge sources must be maps",
  },
])("refuses $what", ({ podSpec, says }) => {
  const { exitCode, stderr } = inject(podSpec);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(says);
});
