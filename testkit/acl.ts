/**
 * What Countersign's Redis user may do, as docs/redis.md tells operators; a test compares the two.
 * `hello` and `info` are the client's greeting and its check that the data set is loaded; the rest is used by the scripts,
 * where every command is checked as well. `ping` is for people.
 */
export const aclRules = [
  "~countersign:*",
  "resetchannels",
  "-@all",
  ...["get", "set", "del", "pttl", "time", "eval", "info", "hello", "ping"].map((name) => `+${name}`),
];

/** In a Cluster the client asks which node has what, whether all is well, and a new owner while a slot moves. */
export const clusterRules = ["+cluster|slots", "+cluster|info", "+asking"];

export const aclUser = { username: "countersign", password: "canary-redis-password" } as const;

/** A line of redis.conf: every server of the tests has this user, and every proxy logs in as it. */
export const aclLine = [
  ...["user", aclUser.username, "on", `>${aclUser.password}`, "resetkeys"],
  ...aclRules,
  ...clusterRules,
].join(" ");

/** Arguments of `ACL` that take the user what only a Cluster needs. */
export const withoutCluster = ["SETUSER", aclUser.username, ...clusterRules.map((rule) => rule.replace("+", "-"))];
