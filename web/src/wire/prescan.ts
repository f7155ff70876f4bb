/**
 * The strict check of a frame before anything is decoded: the browser's twin of
 * the server's pre-scan. The msgpack library is lenient where a wire must not be:
 * it takes a key twice, extension types and broken UTF-8, and believes lengths.
 */

/** Bounds of every frame; those of a session may be lower. */
export const maxDepth = 16;
export const maxNodes = 8192;
export const maxKeys = 64;
export const maxKey = 128;

/** Limits of one frame, in bytes and items. */
export interface Limits {
  frame: number;
  string: number;
  list: number;
}

export const defaultLimits: Limits = { frame: 256 << 10, string: 64 << 10, list: 4096 };

/** Says which rule a frame breaks, and at which byte. */
export class Fault extends Error {
  constructor(
    problem: string,
    readonly at: number,
  ) {
    super(`${problem} at byte ${at}`);
    this.name = "Fault";
  }
}

type Kind = "nil" | "bool" | "int" | "float" | "str" | "bin" | "array" | "map";

/** A value's first bytes: its kind, where its content begins, how long it is (bytes, items or pairs). */
interface Head {
  kind: Kind;
  body: number;
  length: number;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws a Fault unless the bytes are exactly one value within all bounds. */
export function scan(bytes: Uint8Array, limits: Limits = defaultLimits): void {
  if (bytes.length === 0) throw new Fault("the frame is empty", 0);
  if (bytes.length > limits.frame) throw new Fault("the frame is over the limit", limits.frame);
  const end = new Scanner(bytes, limits).value(0, 0);
  if (end !== bytes.length) throw new Fault("bytes follow the frame", end);
}

class Scanner {
  private readonly view: DataView;
  private nodes = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly limits: Limits,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Checks the value at a position and returns the position behind it. It recurses maxDepth deep at most. */
  value(at: number, depth: number): number {
    const head = this.head(at);
    if (++this.nodes > maxNodes) throw new Fault("more than 8192 values", at);
    if (head.kind === "array" || head.kind === "map") return this.open(at, head, depth);
    this.within(at, head);
    if (head.kind === "str" || head.kind === "bin") {
      if (head.length > this.limits.string) throw new Fault("a string is over the limit", at);
      if (head.kind === "str") this.text(head, at);
    }
    if (head.kind === "int" && head.length === 8) this.integer(head, at);
    return head.body + head.length;
  }

  private open(at: number, head: Head, depth: number): number {
    const least = head.kind === "map" ? head.length * 2 : head.length;
    if (least > this.bytes.length - head.body) throw new Fault("a length claims more than there is", at);
    if (head.kind === "array" && head.length > this.limits.list) throw new Fault("a list is over the limit", at);
    if (head.kind === "map" && head.length > maxKeys) throw new Fault("more than 64 keys in a map", at);
    if (depth === maxDepth) throw new Fault("nested deeper than 16", at);
    if (this.nodes + head.length > maxNodes) throw new Fault("more than 8192 values", at);
    const keys = head.kind === "map" ? new Set<string>() : undefined;
    let next = head.body;
    for (let i = 0; i < head.length; i++) {
      if (keys) next = this.key(next, keys);
      next = this.value(next, depth + 1);
    }
    return next;
  }

  private key(at: number, seen: Set<string>): number {
    const head = this.head(at);
    if (head.kind !== "str") throw new Fault("a map's key is no string", at);
    this.within(at, head);
    if (head.length > maxKey) throw new Fault("a map's key is over 128 bytes", at);
    const name = this.text(head, at);
    if (name === "__proto__") throw new Fault("__proto__ is no key", at);
    if (seen.has(name)) throw new Fault("a map has a key twice", at);
    seen.add(name);
    return head.body + head.length;
  }

  private within(at: number, head: Head): void {
    if (head.length > this.bytes.length - head.body) throw new Fault("a length claims more than there is", at);
  }

  private text(head: Head, at: number): string {
    try {
      return strict.decode(this.bytes.subarray(head.body, head.body + head.length));
    } catch {
      throw new Fault("a string is not valid UTF-8", at);
    }
  }

  private integer(head: Head, at: number): void {
    const signed = this.bytes[at] === 0xd3;
    const n = signed ? this.view.getBigInt64(head.body) : this.view.getBigUint64(head.body);
    const most = BigInt(Number.MAX_SAFE_INTEGER);
    if (n > most || n < -most) throw new Fault("an integer is beyond 2^53", at);
  }

  private head(at: number): Head {
    const code = this.bytes[at];
    if (code === undefined) throw new Fault("the frame ends inside a value", at);
    const head = (kind: Kind, length: number, skip = 1): Head => ({ kind, body: at + skip, length });
    if (code <= 0x7f || code >= 0xe0) return head("int", 0);
    if (code <= 0x8f) return head("map", code & 0x0f);
    if (code <= 0x9f) return head("array", code & 0x0f);
    if (code <= 0xbf) return head("str", code & 0x1f);
    switch (code) {
      case 0xc0:
        return head("nil", 0);
      case 0xc2:
      case 0xc3:
        return head("bool", 0);
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.sized("bin", at, 1 << (code - 0xc4));
      case 0xca:
      case 0xcb:
        return head("float", code === 0xca ? 4 : 8);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return head("int", 1 << (code - 0xcc));
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return head("int", 1 << (code - 0xd0));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.sized("str", at, 1 << (code - 0xd9));
      case 0xdc:
      case 0xdd:
        return this.sized("array", at, code === 0xdc ? 2 : 4);
      case 0xde:
      case 0xdf:
        return this.sized("map", at, code === 0xde ? 2 : 4);
      case 0xc1:
        throw new Fault("0xc1 is no value", at);
    }
    throw new Fault("extension types are not used here", at);
  }

  private sized(kind: Kind, at: number, width: number): Head {
    const body = at + 1 + width;
    if (body > this.bytes.length) throw new Fault("the frame ends inside a value", at);
    const length = width === 1 ? this.view.getUint8(at + 1) : width === 2 ? this.view.getUint16(at + 1) : this.view.getUint32(at + 1);
    return { kind, body, length };
  }
}
