/**
 * What the values of a message's body must look like. A shape turns a decoded
 * value into the typed one: it drops keys that it does not know, puts an empty
 * value in the place of one that is missing, and an empty list in that of nil.
 */

export interface Shape<T> {
  /** Gives the typed value, or throws a Mismatch that names the field. */
  read(value: unknown, at: string): T;
  /** Stands in the place of a key that is missing. */
  empty(): T;
}

/** Says which field of a body is not what it must be. */
export class Mismatch extends Error {
  constructor(at: string, problem: string) {
    super(`${at}: ${problem}`);
    this.name = "Mismatch";
  }
}

const missing = (at: string, word: string) => new Mismatch(at, `is not ${word}`);

export const str: Shape<string> = {
  read(value, at) {
    if (typeof value !== "string") throw missing(at, "a string");
    return value;
  },
  empty: () => "",
};

export const int: Shape<number> = {
  read(value, at) {
    if (!Number.isSafeInteger(value)) throw missing(at, "an integer");
    return value as number;
  },
  empty: () => 0,
};

export const bool: Shape<boolean> = {
  read(value, at) {
    if (typeof value !== "boolean") throw missing(at, "a boolean");
    return value;
  },
  empty: () => false,
};

export const bin: Shape<Uint8Array> = {
  read(value, at) {
    if (value === null) return new Uint8Array();
    if (!(value instanceof Uint8Array)) throw missing(at, "binary");
    return value;
  },
  empty: () => new Uint8Array(),
};

/** A list of one shape; nil reads as none. */
export function list<T>(items: Shape<T>): Shape<T[]> {
  return {
    read(value, at) {
      if (value === null) return [];
      if (!Array.isArray(value)) throw missing(at, "a list");
      return value.map((item, i) => items.read(item, `${at}[${i}]`));
    },
    empty: () => [],
  };
}

/** A struct that may be nil. */
export function maybe<T>(inner: Shape<T>): Shape<T | null> {
  return { read: (value, at) => (value === null ? null : inner.read(value, at)), empty: () => null };
}

/** A struct: a map with these keys. */
export function fields<T>(shapes: { [K in keyof T]: Shape<T[K]> }): Shape<T> {
  const keys = Object.keys(shapes) as (keyof T & string)[];
  return {
    read(value, at) {
      if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array) {
        throw missing(at, "a map");
      }
      const given = value as Record<string, unknown>;
      const out = {} as T;
      for (const key of keys) {
        out[key] = Object.hasOwn(given, key) ? shapes[key].read(given[key], `${at}.${key}`) : shapes[key].empty();
      }
      return out;
    },
    empty() {
      const out = {} as T;
      for (const key of keys) out[key] = shapes[key].empty();
      return out;
    },
  };
}
