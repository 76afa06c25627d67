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
