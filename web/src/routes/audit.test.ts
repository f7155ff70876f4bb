import { expect, test } from "vitest";
import { parse } from "../table/words";
import { asked } from "./Audit";

test("the server is asked for what one word alone says", () => {
  expect(asked(parse("action:node_moved object:a,b -actor:u:1 disk rack"))).toEqual({ action: "node_moved", text: "disk" });
  expect(asked(parse("reason: unknown:x"))).toEqual({});
});
