import { expect, it } from "vitest";
import { Order } from "./order";

const byN = (a: { id: string; n: number }, b: { id: string; n: number }) => a.n - b.n;
const ids = (rows: { id: string }[]) => rows.map((r) => r.id).join("");

it("keeps order between sorts, and while it is frozen", () => {
  const order = new Order<{ id: string; n: number }>();
  const rows = [
    { id: "a", n: 2 },
    { id: "b", n: 1 },
  ];
  expect(ids(order.apply(rows, "n", byN, false, 0))).toBe("ba");
  const later = [
    { id: "a", n: 0 },
    { id: "b", n: 1 },
    { id: "c", n: -1 },
  ];
  expect(ids(order.apply(later, "n", byN, false, 500))).toBe("bac");
  expect(ids(order.apply(later, "n", byN, true, 5000))).toBe("bac");
  expect(ids(order.apply(later.slice(1), "n", byN, true, 6000))).toBe("bc");
  expect(ids(order.apply(later, "n", byN, false, 7000))).toBe("cab");
});
