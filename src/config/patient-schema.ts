import { z } from "zod";
import { environmentSchema } from "./environment-schema.ts";
import { listenerSchema } from "./listener-schema.ts";
import { configSchema } from "./schema.ts";
import { childSchema, keySchema, setInFolder, setWritten, siteSchema } from "./site-schema.ts";

const anyPort = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
const addressOf = (host: string) => {
  return { origin: `https://${host}`, scheme: "https", host, port: 443, path: "" } as const;
};

const unset = { env: "" };

const set = orEmpty(
  z.union([
    z.object({ ...setInFolder.shape, name: setInFolder.shape.name.catch("") }),
    z.object({
      name: setWritten.shape.name.catch(""),
      clientId: setWritten.shape.clientId.catch(""),
      clientSecret: setWritten.shape.clientSecret.catch(unset),
      audience: setWritten.shape.audience.catch(""),
    }),
  ]),
);

const key = orEmpty(
  keySchema.extend({
    identifier: keySchema.shape.identifier.catch("K"),
    secret: keySchema.shape.secret.catch(unset),
  }),
);

const means = { credentials: z.array(set).min(1).optional(), keys: z.array(key).min(1).optional() };

const listener = orEmpty(
  listenerSchema.extend({ bind: listenerSchema.shape.bind.catch(anyPort), environment: z.string().catch("") }),
);
const door = orEmpty(z.strictObject({ bind: listenerSchema.shape.bind.catch(anyPort) }));
const admin = orEmpty(configSchema.shape.admin.extend({ bind: listenerSchema.shape.bind.catch(anyPort) }));

const environment = environmentSchema.extend({
  baseUrl: environmentSchema.shape.baseUrl.catch(addressOf("api.invalid")),
  // What is written there and cannot be read is refused already; where nothing is written, nothing stands in for it.
  authUrl: environmentSchema.shape.authUrl.catch(addressOf("login.invalid")),
  operations: environmentSchema.shape.operations.catch(["*"]),
  sites: mappingOf(siteSchema.extend({ ...means, children: mappingOf(childSchema.extend(means)) })),
});

/**
 * For a file that the schema has refused: the same schema, except that listeners, environments, sites, credential sets
 * and keys stay whatever they lack, with stand-ins and under any name. So one fault hides nothing about the others.
 */
export const patientSchema = configSchema.extend({
  listeners: z.preprocess((given) => (Array.isArray(given) ? given : []), z.array(listener)),
  admin,
  status: door,
  environments: mappingOf(environment),
});

function orEmpty<Schema extends z.ZodType>(schema: Schema) {
  const isMapping = (given: unknown) => typeof given === "object" && given !== null && !Array.isArray(given);
  return z.preprocess((given) => (isMapping(given) ? given : {}), schema);
}

function mappingOf<Schema extends z.ZodType>(schema: Schema) {
  return orEmpty(z.record(z.string(), orEmpty(schema)));
}
