/** Work on the machine's own clock (a command, a connection), during which the injected clock stands still. */
export class Work {
  #underWay = 0;
  #wake: () => void = () => {};
  #failure: { readonly error: unknown } | undefined;

  async track<Value>(doing: Promise<Value>): Promise<Value> {
    this.#underWay += 1;
    try {
      return await doing;
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#wake();
    }
  }

  /** For work that nobody awaits: if it fails, the simulation fails. */
  begin(doing: Promise<void>): void {
    this.track(doing).catch((error: unknown) => {
      this.#failure ??= { error };
    });
  }

  /** Resolves when nothing is under way and every promise has settled that can settle now. */
  async settle(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#underWay === 0) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
