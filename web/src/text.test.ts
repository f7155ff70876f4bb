import { expect, it } from "vitest";
import { plainText } from "./text";

it.each([
  ["\u001b[31mred\u001b[0m", "red"],
  ["\u001b]0;title\u0007after", "after"],
  ["\u001b]8;;https://evil\u001b\\link\u001b]8;;\u001b\\", "link"],
  ["a\u202egnp.exe", "agnp.exe"],
  ["zero\u200bwidth", "zerowidth"],
  ["frame 1\rframe 2\r\nend", "frame 1\nframe 2\nend"],
  ["<b>bold</b>", "<b>bold</b>"],
  ["tab\tstays\u0000", "tab\tstays"],
])("%j is shown as %j", (text, want) => expect(plainText(text)).toBe(want));
