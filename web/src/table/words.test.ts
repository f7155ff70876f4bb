import { describe, expect, it } from "vitest";
import { chosen, matchAll, parse, type Read, tightest, toggle, without } from "./words";

interface Row {
  id: string;
  pool: string;
  region: string;
}
const read: Read<Row> = (row, key) => (key === "" ? row.id : key === "pool" ? row.pool : key === "region" ? row.region : undefined);
const rows: Row[] = [
  { id: "ams-1", pool: "pool-1", region: "eu-west" },
  { id: "ams-2", pool: "pool-10", region: "eu-south-2" },
  { id: "nyc-1", pool: "default", region: "us-east" },
];
const ids = (query: string) => rows.filter((r) => matchAll(parse(query), r, read)).map((r) => r.id);

describe("filter words", () => {
  it.each([
    ["", ["ams-1", "ams-2", "nyc-1"]],
    ["pool:pool-1", ["ams-1"]],
    ["pool:pool-1,default", ["ams-1", "nyc-1"]],
    ["region:eu", ["ams-1", "ams-2"]],
    ["region:eu -region:eu-south-2", ["ams-1"]],
    ["ams", ["ams-1", "ams-2"]],
    ["-ams", ["nyc-1"]],
    ["region:", ["ams-1", "ams-2", "nyc-1"]],
    ["color:red", []],
    ["REGION:US", ["nyc-1"]],
  ])("%s", (query, want) => expect(ids(query)).toEqual(want));

  it("toggle puts a value in and takes it out", () => {
    expect(toggle("ams", "state", "lost")).toBe("ams state:lost");
    expect(toggle("ams state:lost", "state", "new")).toBe("ams state:lost,new");
    expect(toggle("state:lost,new", "state", "lost")).toBe("state:new");
    expect(toggle("state:new ams", "state", "new")).toBe("ams");
    expect(chosen("state:lost,new", "state", "new")).toBe(true);
    expect(chosen("-state:new", "state", "new")).toBe(false);
  });

  it("names the word to drop", () => {
    expect(tightest(parse("region:eu pool:default"), rows, read)?.text).toBe("pool:default");
    expect(without("region:eu pool:default", "pool:default")).toBe("region:eu");
  });
});
