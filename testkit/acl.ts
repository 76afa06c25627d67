/**
 * The rights of Countersign's Redis user, as docs/redis.md gives them to operators; a test compares the two.
 * `hello` and `info` are the client's greeting and its check that the data set is loaded; the scripts use the other commands,
 * each of which Redis checks inside a script as well. `ping` is for people.
 */
export const aclRules = [
  "~countersign:*",
  "resetchannels",
  "-@all",
  ...["get", "set", "del", "pttl", "time", "eval", "evalsha", "info", "hello", "ping"].map((name) => `+${name}`),
];

/** In a Cluster the client asks which node has which slots and whether the Cluster is well, and sends commands to the new owner of a slot that moves. */
export const clusterRules = ["+cluster|slots", "+cluster|info", "+asking"];

export const aclUser = { username: "countersign", password: "canary-redis-password" } as const;

/** A line of redis.conf: every server of the tests has this user, and every proxy logs in as this user. */
export const aclLine = [
  "user",
  aclUser.username,
  "on",
  `>${aclUser.password}`,
  "resetkeys",
  ...aclRules,
  ...clusterRules,
].join(" ");

/** Arguments of `ACL` that withdraw the rights that only a Cluster needs. */
export const withoutCluster = ["SETUSER", aclUser.username, ...clusterRules.map((rule) => rule.replace("+", "-"))];
