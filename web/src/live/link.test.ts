import { encode } from "@msgpack/msgpack";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { decodeFrame } from "../wire/frame";
import { Link } from "./link";

class Socket {
  static readonly OPEN = 1;
  readyState = 1;
  sent: string[] = [];
  onmessage: ((e: { data: ArrayBuffer }) => void) | null = null;
  onclose: (() => void) | null = null;
  close() {
    this.readyState = 3;
    this.onclose?.();
  }
  send(bytes: Uint8Array) {
    this.sent.push(decodeFrame(bytes)[0]?.type ?? "");
  }
  say(bytes: Uint8Array) {
    this.onmessage?.({ data: bytes.slice().buffer });
  }
}

const welcome = encode([
  {
    t: "welcome_console",
    b: { user: "1", name: "admin", roles: ["superadmin"], version: "x", times: { tick_ms: 1000, stale_ms: 5000 } },
  },
]);
const proto = Uint8Array.from([0x91, 0x82, 0xa1, 0x74, 0xa1, 0x78, 0xa9, ...Buffer.from("__proto__"), 1]);

function made() {
  const sockets: Socket[] = [];
  const options = {
    onMessage: vi.fn(),
    onWelcome: vi.fn(),
    onState: vi.fn(),
    onDoubt: vi.fn(),
    dial: () => {
      const s = new Socket();
      sockets.push(s);
      return s as unknown as WebSocket;
    },
  };
  const link = new Link(options);
  link.open();
  return { link, options, sockets, last: () => sockets[sockets.length - 1] as Socket };
}

describe("link", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("WebSocket", Socket);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("is live from the welcome on", () => {
    const { link, options, last } = made();
    expect(link.current().live).toBe(false);
    last().say(welcome);
    expect(link.current().live).toBe(true);
    expect(options.onWelcome).toHaveBeenCalledTimes(1);
  });

  it("asks after silence, shows stale, and dials anew without an answer", () => {
    const { link, sockets, last } = made();
    last().say(welcome);
    vi.advanceTimersByTime(3_200);
    expect(last().sent).toEqual(["ping"]);
    vi.advanceTimersByTime(2_500);
    expect(link.current().live).toBe(false);
    vi.advanceTimersByTime(10_000);
    expect(sockets).toHaveLength(2);
  });

  it("keeps a connection that answers", () => {
    const { link, sockets, last } = made();
    last().say(welcome);
    for (let i = 0; i < 20; i++) {
      vi.advanceTimersByTime(2_000);
      last().say(encode([{ t: "pong", b: {} }]));
    }
    expect(sockets).toHaveLength(1);
    expect(link.current().live).toBe(true);
  });

  it("redials after a cut, within the longest wait", () => {
    const { link, options, sockets, last } = made();
    last().say(welcome);
    last().close();
    expect(options.onDoubt).toHaveBeenCalledTimes(1);
    expect(link.current().live).toBe(false);
    vi.advanceTimersByTime(1_000);
    expect(sockets).toHaveLength(2);
    last().say(welcome);
    expect(link.current().live).toBe(true);
  });

  it("Attack_A21 counts a bad frame and lives on", () => {
    const { link, options, last } = made();
    last().say(welcome);
    last().say(proto);
    last().say(encode([{ t: "snapshot", b: { topic: 7 } }]));
    expect(link.current().badFrames).toBe(1);
    expect(options.onMessage).toHaveBeenCalledTimes(1);
    expect(link.current().live).toBe(true);
  });
});
