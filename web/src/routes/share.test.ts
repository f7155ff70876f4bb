import { describe, expect, it } from "vitest";
import { boundsOf, readShare } from "./share";

describe("share", () => {
  const share = { weight: 300, maxOpenJobs: 0, maxPlacements: 12, maxSlots: 40 };
  it("comes back from its form as it was", () => {
    expect(boundsOf(share).maxOpenJobs).toBe("");
    expect(readShare(boundsOf(share))).toEqual(share);
  });
  it("is none while a number is wrong", () => {
    for (const wrong of ["", "0", "1001", "ten", "-3", "1.5"]) expect(readShare({ ...boundsOf(share), weight: wrong }), wrong).toBeNull();
    expect(readShare({ ...boundsOf(share), maxSlots: "many" })).toBeNull();
  });
});
