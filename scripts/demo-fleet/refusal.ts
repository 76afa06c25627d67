/** Why the demo cannot be given or cannot go on, in a sentence for whoever started it. */
export class Refusal extends Error {}
