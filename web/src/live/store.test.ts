import { describe, expect, it, vi } from "vitest";
import { type Delta, deltaShape, type NodeRow, nodeRowShape, type Snapshot, snapshotShape } from "../wire/messages";
import { Store } from "./store";

const node = (id: string, over: Partial<NodeRow> = {}): NodeRow => ({ ...nodeRowShape.empty(), id, ...over });
const snapshot = (over: Partial<Snapshot>): Snapshot => ({ ...snapshotShape.empty(), topic: "nodes", last: true, ...over });
const delta = (over: Partial<Delta>): Delta => ({ ...deltaShape.empty(), topic: "nodes", ...over });

function made() {
  const wire = { subscribe: vi.fn(), more: vi.fn(), unsubscribe: vi.fn() };
  const frames: (() => void)[] = [];
  const store = new Store(wire, (flush) => frames.push(flush));
  const listener = vi.fn();
  const stop = store.watch("nodes", listener);
  const flush = () => {
    for (const f of frames.splice(0)) f();
  };
  return { wire, store, listener, stop, flush };
}

describe("store", () => {
  it("asks for the parts of a snapshot one by one", () => {
    const { wire, store, flush } = made();
    store.snapshot(snapshot({ rev: 3, last: false, nodes: [node("a")] }));
    expect(wire.more).toHaveBeenCalledWith("nodes", 1);
    flush();
    expect(store.view("nodes").phase).toBe("partial");
    store.snapshot(snapshot({ rev: 3, part: 1, nodes: [node("b")] }));
    flush();
    expect(store.view("nodes").phase).toBe("ready");
    expect(store.view("nodes").rows.map((r) => r.id)).toEqual(["a", "b"]);
  });

  it("publishes once per frame, however many deltas came", () => {
    const { store, listener, flush } = made();
    store.snapshot(snapshot({ rev: 1, nodes: [node("a")] }));
    store.delta(delta({ prev: 1, rev: 2, nodes: [node("a", { lease: "suspect" })] }));
    store.delta(delta({ prev: 2, rev: 3, nodes: [node("b")], deletes: ["a"] }));
    flush();
    expect(listener).toHaveBeenCalledTimes(1);
    expect(store.view("nodes").rows.map((r) => r.id)).toEqual(["b"]);
  });

  it("begins anew after a gap, with the old rows in sight until the snapshot is whole", () => {
    const { wire, store, flush } = made();
    store.snapshot(snapshot({ rev: 1, nodes: [node("a"), node("b")] }));
    store.delta(delta({ prev: 7, rev: 8, nodes: [node("c")] }));
    expect(wire.subscribe).toHaveBeenCalledTimes(2);
    store.snapshot(snapshot({ rev: 9, last: false, nodes: [node("c")] }));
    flush();
    expect(store.view("nodes").rows).toHaveLength(2);
    store.snapshot(snapshot({ rev: 9, part: 1, nodes: [node("d")] }));
    flush();
    expect(store.view("nodes").rows.map((r) => r.id)).toEqual(["c", "d"]);
  });

  it("drops deltas that come before the snapshot", () => {
    const { store, flush } = made();
    store.delta(delta({ prev: 0, rev: 1, nodes: [node("a")] }));
    flush();
    expect(store.view("nodes").phase).toBe("loading");
  });

  it("says what the server refused, and asks again when that may pass", () => {
    vi.useFakeTimers();
    const { wire, store, flush } = made();
    const request = () => wire.subscribe.mock.lastCall?.[2] as string;
    store.refused(request(), { code: "unavailable", detail: "not now" });
    vi.advanceTimersByTime(2_000);
    expect(wire.subscribe).toHaveBeenCalledTimes(2);
    store.refused(request(), { code: "not_found", detail: "there is no such topic" });
    flush();
    expect(store.view("nodes")).toMatchObject({ phase: "refused", refusal: { code: "not_found" } });
    store.resubscribe();
    store.snapshot(snapshot({ rev: 1, nodes: [node("a")] }));
    flush();
    expect(store.view("nodes").phase).toBe("ready");
    vi.useRealTimers();
  });

  it("ends a topic some time after its last reader", () => {
    vi.useFakeTimers();
    const { wire, stop } = made();
    stop();
    expect(wire.unsubscribe).not.toHaveBeenCalled();
    vi.runAllTimers();
    expect(wire.unsubscribe).toHaveBeenCalledWith("nodes");
    vi.useRealTimers();
  });
});
