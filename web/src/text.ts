/**
 * Text of nodes and tools as it may be shown: terminal sequences and characters
 * that are invisible or turn the direction are taken out. React escapes the rest.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const terminal = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const invisible = /[\p{Cf}\p{Co}]/gu;

export function plainText(text: string): string {
  return text
    .replace(terminal, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[\u2028\u2029]/g, "\n")
    .replace(controls, "")
    .replace(invisible, "");
}
