/** Why the demo cannot be given or cannot go on, in a sentence for the person who started it. */
export class Refusal extends Error {}
