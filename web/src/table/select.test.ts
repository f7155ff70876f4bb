import { expect, it } from "vitest";
import { between } from "./select";

it("takes the rows from one to another, either way round", () => {
  const ids = ["a", "b", "c", "d"];
  expect(between(ids, "b", "d")).toEqual(["b", "c", "d"]);
  expect(between(ids, "d", "b")).toEqual(["b", "c", "d"]);
  expect(between(ids, "gone", "c")).toEqual(["c"]);
});
