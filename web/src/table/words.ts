/**
 * Filters as words: `pool:pool-7 state:suspect,lost -region:eu cam`. A word with a
 * key asks for one of its values, a minus turns it round, a bare word looks for
 * text. All words must hold.
 */

export interface Word {
  key: string; // empty: bare
  values: string[];
  not: boolean;
  text: string; // as it was written
}

/** Gives a row's values under a key; an unknown key gives undefined. */
export type Read<Row> = (row: Row, key: string) => string | readonly string[] | undefined;

export function parse(query: string): Word[] {
  return query.split(/\s+/).filter(Boolean).map(parseWord);
}

function parseWord(text: string): Word {
  const not = text.length > 1 && text.startsWith("-");
  const rest = not ? text.slice(1) : text;
  const colon = rest.indexOf(":");
  const key = colon > 0 ? rest.slice(0, colon).toLowerCase() : "";
  const values = (colon > 0 ? rest.slice(colon + 1) : rest).toLowerCase().split(",").filter(Boolean);
  return { key, values, not, text };
}

/** A value holds when it is the same, or begins with it up to a dash: eu for eu-west. */
function holds(have: string, want: string): boolean {
  const value = have.toLowerCase();
  return value === want || value.startsWith(`${want}-`);
}

export function match<Row>(word: Word, row: Row, read: Read<Row>): boolean {
  if (word.values.length === 0) return true; // still being written
  const have = read(row, word.key);
  const list = have === undefined ? [] : typeof have === "string" ? [have] : have;
  const hit =
    word.key === ""
      ? word.values.some((want) => list.some((v) => v.toLowerCase().includes(want)))
      : word.values.some((want) => list.some((v) => holds(v, want)));
  return hit !== word.not;
}

export const matchAll = <Row>(words: Word[], row: Row, read: Read<Row>) => words.every((w) => match(w, row, read));

/** The word whose removal lets the most rows through: what to drop when nothing matches. */
export function tightest<Row>(words: Word[], rows: Row[], read: Read<Row>): Word | undefined {
  let best: Word | undefined;
  let most = 0;
  for (const word of words) {
    const others = words.filter((w) => w !== word);
    const through = rows.reduce((n, row) => n + (matchAll(others, row, read) ? 1 : 0), 0);
    if (through > most) {
      most = through;
      best = word;
    }
  }
  return best;
}

export const without = (query: string, word: string) =>
  query
    .split(/\s+/)
    .filter((w) => w && w !== word)
    .join(" ");

/** Puts a value of a key in or takes it out: the state chips. */
export function toggle(query: string, key: string, value: string): string {
  const words = parse(query);
  const word = words.find((w) => w.key === key && !w.not);
  if (!word) return [query.trim(), `${key}:${value}`].filter(Boolean).join(" ");
  const values = word.values.includes(value) ? word.values.filter((v) => v !== value) : [...word.values, value];
  const next = values.length ? `${key}:${values.join(",")}` : "";
  return words
    .map((w) => (w === word ? next : w.text))
    .filter(Boolean)
    .join(" ");
}

export const chosen = (query: string, key: string, value: string) => parse(query).some((w) => w.key === key && !w.not && w.values.includes(value));
