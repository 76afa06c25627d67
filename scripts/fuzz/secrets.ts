/** Made up, and easy to find where they must not be: no answer and no log line may hold the word. */
const canary = "canary";

export const secrets = {
  clientSecret: `${canary}-client-secret-blue`,
  apiSecret: `${canary}-api-secret-key-one`,
  tokenPrefix: `${canary}-`,
} as const;

export const canaries: readonly string[] = [canary];
