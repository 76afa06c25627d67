import { expect, it } from "vitest";
import { RequestBody } from "../../src/adapters/http-server/read-body.ts";

it("a body that has failed keeps no bytes, so its connection is read to the end", () => {
  const body = new RequestBody({ bodyBytes: 200_000, isChunked: false }, 200_000);
  const piece = Buffer.alloc(65_536);
  body.read(piece, 0);
  expect(body.isFull).toBe(true);
  body.fail(new Error("the first reason"));
  body.fail(new Error("a later reason"));
  expect(body.isFull).toBe(false);
  body.read(piece, 0);
  expect(body.isFull).toBe(false);
  expect(() => body.take()).toThrow("the first reason");
});

it("a body for which there is no room is read no further than one that nobody asked for", () => {
  const body = new RequestBody({ bodyBytes: 0, isChunked: true }, 262_144);
  const full = new Error("no room");
  const buffer = {
    reserve() {
      throw full;
    },
    onEvicted() {},
  };
  expect(() => body.collect(buffer)).toThrow(full);
  body.read(Buffer.from(`10000\r\n${"x".repeat(65_536)}`), 0);
  expect(body.isFull).toBe(true);
});
