import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type ClaimStore, type ClaimTerms, takeoverMs } from "../../src/claims/claim.ts";

export interface ClaimStoreStage {
  /** Two views of one store, as two replicas see it. */
  readonly one: ClaimStore;
  readonly other: ClaimStore;
  /** Waits until this much time has passed. */
  pass(ms: number): Promise<void>;
}

const claimed = { kind: "claimed" };

/** The promises of every store of claims; the same suite runs on each. */
export function describeClaimStore(name: string, open: () => Promise<ClaimStoreStage>): void {
  const newTerms = (more: Partial<ClaimTerms> = {}) => {
    const key = randomBytes(32).toString("base64url");
    return (holder: string, own: Partial<ClaimTerms> = {}): ClaimTerms => {
      const terms = {
        kind: "callback",
        key,
        holder,
        note: `n.${holder}`,
        leaseMs: 10_000,
        lifetimeMs: 60_000,
      } as const;
      return { ...terms, isTakenOver: true, ...more, ...own };
    };
  };

  describe(`the store of claims in ${name}`, () => {
    it("lets only one of several holders claim, and names that holder to the others", async () => {
      const { one, other } = await open();
      const terms = newTerms();
      const claims = Array.from({ length: 20 }, (_, index) => (index % 2 ? one : other).open(terms(`h-${index}`)));
      const results = await Promise.all(claims.map((claim) => claim.make()));
      const winner = results.findIndex(({ kind }) => kind === "claimed");
      const others = results.filter(({ kind }) => kind !== "claimed");
      expect(others).toHaveLength(19);
      for (const found of others) {
        expect(found).toMatchObject({ kind: "held", holder: `h-${winner}`, note: `n.h-${winner}`, isOver: false });
      }
    });

    it("keeps claims of different keys and of different kinds apart", async () => {
      const { one } = await open();
      const terms = newTerms();
      expect(await one.open(terms("a")).make()).toEqual(claimed);
      expect(await one.open(terms("a", { kind: "once" })).make()).toEqual(claimed);
      expect(await one.open(newTerms()("a")).make()).toEqual(claimed);
    });

    it.each(["200", "answered 201", "unknown -", "two\nlines", "x".repeat(70_000)])(
      "returns to everyone how a claim was settled: %.20s",
      async (value) => {
        const { one, other } = await open();
        const terms = newTerms();
        const claim = one.open(terms("a"));
        await claim.make();
        const held = await other.open(terms("b")).make();
        await claim.settle(value);
        const found = { kind: "settled", holder: "a", note: "n.a", value, isOver: false };
        expect(await other.open(terms("b")).make()).toMatchObject(found);
        expect(await one.open(terms("a")).make()).toMatchObject(found);
        const atMs = "atMs" in held ? held.atMs : undefined;
        expect(await other.open(terms("c")).make()).toMatchObject({ atMs });
      },
    );

    it("accepts a later value of the same holder, and no release after it", async () => {
      const { one, other } = await open();
      const terms = newTerms();
      const claim = one.open(terms("a"));
      await claim.make();
      await claim.settle("answered 200");
      await claim.settle("unknown 200");
      await claim.release();
      expect(await other.open(terms("b")).make()).toMatchObject({ kind: "settled", value: "unknown 200" });
    });

    it("lets a released claim be made again", async () => {
      const { one, other } = await open();
      const terms = newTerms();
      const claim = one.open(terms("a"));
      await claim.make();
      await claim.release();
      expect(await other.open(terms("b")).make()).toEqual(claimed);
    });

    it("releases no claim but the holder's own", async () => {
      const { one, other } = await open();
      const terms = newTerms();
      await one.open(terms("a")).make();
      const second = other.open(terms("b"));
      await second.make();
      await second.release();
      expect(await other.open(terms("b")).make()).toMatchObject({ kind: "held", holder: "a" });
    });

    it("lets a holder settle a claim whose result it did not see, or that another holder has meanwhile", async () => {
      const { one, other } = await open();
      const terms = newTerms();
      await one.open(terms("a")).make();
      await one.open(terms("a")).settle("200");
      expect(await other.open(terms("b")).make()).toMatchObject({ kind: "settled", holder: "a" });
      const overtaken = newTerms();
      const claim = other.open(overtaken("b"));
      await claim.make();
      await one.open(overtaken("a")).settle("200");
      await claim.release();
      await claim.settle("500");
      expect(await other.open(overtaken("c")).make()).toMatchObject({ kind: "settled", holder: "a", value: "200" });
    });

    it("says that a lease is over, and takes over no claim whose terms forbid it", async () => {
      const { one, other, pass } = await open();
      const terms = newTerms({ isTakenOver: false, leaseMs: 100 });
      await one.open(terms("a")).make();
      await pass(200);
      for (const holder of ["b", "c"]) {
        expect(await other.open(terms(holder)).make()).toMatchObject({ kind: "held", holder: "a", isOver: true });
      }
    });

    it("takes a claim over in two steps, and lets a holder that still works settle it in between", async () => {
      const { one, other, pass } = await open();
      const terms = newTerms({ leaseMs: 100 });
      const claim = one.open(terms("a"));
      await claim.make();
      await pass(200);
      expect(await other.open(terms("b")).make()).toMatchObject({ kind: "held", holder: "a", isOver: true });
      expect(await other.open(terms("b")).make()).toMatchObject({ kind: "held", holder: "a", isOver: false });
      await claim.settle("200");
      expect(await other.open(terms("b")).make()).toMatchObject({ kind: "settled", holder: "a", value: "200" });
    });

    it("gives the claim of a silent holder to only one of the holders that try", async () => {
      const { one, other, pass } = await open();
      const terms = newTerms({ leaseMs: 100 });
      const silent = one.open(terms("a"));
      await silent.make();
      await pass(200);
      await other.open(terms("b", { leaseMs: 10_000 })).make();
      await pass(takeoverMs + 200);
      const claims = Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? one : other).open(terms(`h-${index}`, { leaseMs: 10_000 })),
      );
      const results = await Promise.all(claims.map((claim) => claim.make()));
      expect(results.filter(({ kind }) => kind === "claimed")).toEqual([{ kind: "claimed", doubt: "taken_over" }]);
      // The silent holder did the work after all.
      await silent.settle("200");
      expect(await other.open(terms("c")).make()).toMatchObject({ kind: "settled", holder: "a" });
    }, 30_000);

    /** Like a person who found nothing, or something. */
    const decided = { found: () => ({ value: "unknown -" }), none: () => "release" as const };

    it("keeps what another decides of a settled claim, which its holder changes no more", async () => {
      const { one, other } = await open();
      const terms = newTerms();
      const claim = one.open(terms("a"));
      await claim.make();
      await claim.settle("unknown -");
      expect(await other.decide(terms("a"), decided.found)).toMatchObject({ value: "unknown -", isFound: false });
      await claim.settle("answered 200");
      await claim.release();
      const found = { kind: "settled", holder: "a", note: "n.a", value: "unknown -", isFound: true };
      expect(await one.open(terms("b")).make()).toMatchObject(found);
      expect(await one.find(terms("b"))).toMatchObject(found);
    });

    it("decides on no claim of another holder, nor if the decision is to leave it", async () => {
      const { one, other } = await open();
      const terms = newTerms();
      expect(await one.decide(terms("a"), decided.none)).toBeUndefined();
      await one.open(terms("a")).make();
      expect(await other.decide(terms("b"), decided.none)).toBeUndefined();
      expect(await other.decide(terms("a"), () => undefined)).toMatchObject({ kind: "held" });
      await expect(other.decide(terms("a"), () => expect.fail("refused"))).rejects.toThrow("refused");
      expect(await other.find(terms("b"))).toMatchObject({ kind: "held", holder: "a", isFound: false });
    });

    it("releases a decided claim once, so that one of many holders makes it", async () => {
      const { one, other } = await open();
      const terms = newTerms();
      const claim = one.open(terms("a"));
      await claim.make();
      await claim.settle("unknown -");
      const stores = Array.from({ length: 8 }, (_, index) => (index % 2 ? one : other));
      const results = await Promise.all(
        stores.flatMap((store, index) => [
          store.decide(terms("a"), decided.none).then(() => "decided"),
          store
            .open(terms(`h-${index}`))
            .make()
            .then(({ kind }) => kind),
        ]),
      );
      // Who came before the release finds the settled claim.
      const made = results.filter((kind) => kind === "claimed").length;
      expect(made).toBeLessThanOrEqual(1);
      const next = await one.open(terms("z")).make();
      expect(next.kind).toBe(made === 1 ? "held" : "claimed");
      expect(await other.decide(terms("a"), decided.none)).toBeUndefined();
    });

    it("has one end of a claim that is decided on while its holder settles it", async () => {
      const { one, other } = await open();
      for (const decide of [decided.found, decided.none]) {
        for (let round = 0; round < 10; round += 1) {
          const terms = newTerms();
          const claim = one.open(terms("a"));
          await claim.make();
          const settling = claim.settle("answered 200");
          const seen = await other.decide(terms("a"), (found) => (found.kind === "settled" ? undefined : decide()));
          await settling;
          const end = await other.open(terms("b")).make();
          expect(end).toMatchObject({ kind: "settled", holder: "a" });
          // Of the two, the first decides what was found; after a release the holder's result comes back.
          const isDecidedFirst = seen?.kind === "held";
          expect(end).toMatchObject(
            isDecidedFirst && decide === decided.found ? { isFound: true } : { value: "answered 200", isFound: false },
          );
        }
      }
    });

    it("forgets a claim when its lifetime is over, counted from its settlement", async () => {
      const { one, other, pass } = await open();
      const terms = newTerms({ lifetimeMs: 300 });
      const claim = one.open(terms("a"));
      await claim.make();
      await pass(200);
      await claim.settle("200");
      await pass(200);
      expect(await other.open(terms("b")).make()).toMatchObject({ kind: "settled" });
      await pass(200);
      expect(await other.open(terms("b")).make()).toEqual(claimed);
    });
  });
}
