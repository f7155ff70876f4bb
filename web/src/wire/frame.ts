import { decode, encode } from "@msgpack/msgpack";
import { type Bodies, shapes } from "./messages";
import { defaultLimits, type Limits, scan } from "./prescan";
import { Mismatch, type Shape } from "./shape";

/** What the WebSocket's upgrade must agree on, and the channel's path. */
export const subprotocol = "rockpool.v1";
export const channelPath = "/v1/channel";

const maxMessages = 256;
const token = /^[A-Za-z0-9_.:-]{1,64}$/;

/** Shapes by message type. */
export type Known = { [type: string]: Shape<unknown> };

/** One message of a frame; its body is checked by `read`. */
export interface Message {
  type: string;
  id?: string;
  replyTo?: string;
  body: unknown;
}

/**
 * Checks a whole frame and splits it into its messages. It throws when the frame
 * breaks a rule of the wire; then nothing of it may be used.
 */
export function decodeFrame(bytes: Uint8Array, known: Known = shapes, limits: Limits = defaultLimits): Message[] {
  scan(bytes, limits);
  const frame = decode(bytes);
  if (!Array.isArray(frame) || frame.length < 1 || frame.length > maxMessages) {
    throw new Mismatch("frame", `is not a list of 1..${maxMessages} messages`);
  }
  return frame.map((message, i) => envelope(message, `[${i}]`, known));
}

function envelope(value: unknown, at: string, known: Known): Message {
  if (!isMap(value)) throw new Mismatch(at, "is not a map");
  const type = name(value.t, `${at}.t`);
  if (Object.hasOwn(known, type) && !isMap(value.b)) throw new Mismatch(`${at}.b`, "is not a map");
  const message: Message = { type, body: value.b };
  if (value.i !== undefined) message.id = name(value.i, `${at}.i`);
  if (value.r !== undefined) message.replyTo = name(value.r, `${at}.r`);
  return message;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function name(value: unknown, at: string): string {
  if (typeof value !== "string" || !token.test(value)) throw new Mismatch(at, "is no name");
  return value;
}

/** The typed body of a message that was decoded; a Mismatch names the field. */
export function read<T extends keyof Bodies>(message: Message, type: T): Bodies[T] {
  return shapes[type].read(message.body, type);
}

/** The frame of one message; a refusal names its id. */
export function encodeFrame<T extends keyof Bodies>(type: T, body: Bodies[T], id?: string): Uint8Array<ArrayBuffer> {
  return encode([{ t: type, i: id, b: body }], { ignoreUndefined: true });
}
