/** How much of a log's end a page keeps, in characters: a job may write for days. */
export const keptCharacters = 128 * 1024;

/** The end of a log that is kept; a cut one begins with a whole line where it has one. */
export function keptEnd(text: string): string {
  if (text.length <= keptCharacters) return text;
  const end = text.slice(text.length - keptCharacters);
  return end.slice(end.indexOf("\n") + 1);
}
