import { channelPath, decodeFrame, encodeFrame, type Message, read, subprotocol } from "../wire/frame";
import type { Bodies, WelcomeConsole } from "../wire/messages";

/**
 * The console's connection. It is kept up for as long as the console is open:
 * redialed with jitter, pinged after silence, replaced when it does not answer.
 */

/** What is known of the connection. Times are Date.now(); 0: never. */
export interface LinkState {
  /** Welcomed by the server, and heard from lately. */
  live: boolean;
  heardAt: number;
  nextTryAt: number;
  welcome: WelcomeConsole | null;
  /** Frames that broke a rule of the wire and were dropped. */
  badFrames: number;
}

export interface LinkOptions {
  onMessage(message: Message): void;
  /** A new session with the server: everything must be subscribed anew. */
  onWelcome(): void;
  onState(): void;
  /** The connection was refused or ended: does this browser still have its session? */
  onDoubt(): void;
  dial?(url: string): WebSocket;
}

/** Silence, in ticks, after which the server is asked for a word. */
const silentTicks = 2.5;
/** From the question to the next connection. */
const answerWithin = 10_000;
const firstWordWithin = 15_000;
const slowestRedial = 15_000;

export class Link {
  private state: LinkState = { live: false, heardAt: 0, nextTryAt: 0, welcome: null, badFrames: 0 };
  private socket: WebSocket | null = null;
  private tries = 0;
  private askedAt = 0;
  private dialedAt = 0;
  private redial: ReturnType<typeof setTimeout> | undefined;
  private watch: ReturnType<typeof setInterval> | undefined;
  private readonly dial: (url: string) => WebSocket;

  constructor(private readonly options: LinkOptions) {
    this.dial = options.dial ?? ((url) => new WebSocket(url, subprotocol));
  }

  open(): void {
    if (this.watch !== undefined) return;
    this.watch = setInterval(() => this.look(), 500);
    globalThis.addEventListener?.("online", this.recheck);
    globalThis.document?.addEventListener("visibilitychange", this.recheck);
    this.connect();
  }

  close(): void {
    clearInterval(this.watch);
    clearTimeout(this.redial);
    this.watch = undefined;
    globalThis.removeEventListener?.("online", this.recheck);
    globalThis.document?.removeEventListener("visibilitychange", this.recheck);
    this.drop();
    this.set({ live: false, welcome: null, heardAt: 0, nextTryAt: 0 });
  }

  current(): LinkState {
    return this.state;
  }

  send<T extends keyof Bodies>(type: T, body: Bodies[T], id?: string): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encodeFrame(type, body, id));
  }

  /** Dials at once, whatever the wait was. */
  tryNow(): void {
    clearTimeout(this.redial);
    this.connect();
  }

  /** After sleep or a change of network the connection may be dead without a word. */
  private readonly recheck = (): void => {
    if (globalThis.document?.hidden) return;
    if (!this.socket) this.tryNow();
    else this.ask();
  };

  private connect(): void {
    this.drop();
    this.dialedAt = Date.now();
    const base = globalThis.location?.origin ?? "http://localhost";
    const socket = this.dial(base.replace(/^http/, "ws") + channelPath);
    socket.binaryType = "arraybuffer";
    socket.onmessage = (event) => this.take(event.data);
    socket.onclose = () => this.lost(socket);
    this.socket = socket;
    this.set({ nextTryAt: 0 });
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    this.askedAt = 0;
    if (!socket) return;
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
  }

  private lost(socket: WebSocket): void {
    if (socket !== this.socket) return;
    this.drop();
    this.options.onDoubt();
    // Full jitter: many consoles of a server that restarted don't come at one moment.
    const wait = 200 + Math.random() * Math.min(slowestRedial, 500 * 2 ** this.tries++);
    this.redial = setTimeout(() => this.connect(), wait);
    this.set({ live: false, nextTryAt: Date.now() + wait });
  }

  private take(data: unknown): void {
    let messages: Message[];
    try {
      messages = decodeFrame(new Uint8Array(data as ArrayBuffer));
    } catch {
      this.set({ badFrames: this.state.badFrames + 1 }); // one bad frame costs only itself
      return;
    }
    this.askedAt = 0;
    this.state = { ...this.state, heardAt: Date.now() };
    for (const message of messages) this.one(message);
    if (!this.state.live && this.state.welcome) this.set({ live: true });
  }

  private one(message: Message): void {
    try {
      if (message.type === "welcome_console") {
        this.tries = 0;
        this.set({ welcome: read(message, "welcome_console"), live: true });
        this.options.onWelcome();
      } else {
        this.options.onMessage(message);
      }
    } catch {
      this.set({ badFrames: this.state.badFrames + 1 });
    }
  }

  private ask(): void {
    if (this.askedAt === 0) this.askedAt = Date.now();
    this.send("ping", {});
  }

  /** Twice a second: is the other side still there? */
  private look(): void {
    const now = Date.now();
    const times = this.state.welcome?.times;
    if (!this.socket) return;
    if (!times) {
      if (now - this.dialedAt > firstWordWithin) this.socket.close();
      return;
    }
    const silence = now - Math.max(this.state.heardAt, this.dialedAt);
    if (this.askedAt === 0 && silence > times.tick_ms * silentTicks) this.ask();
    if (this.askedAt !== 0 && now - this.askedAt > answerWithin) this.tryNow();
    if (this.state.live && now - this.state.heardAt > times.stale_ms) this.set({ live: false });
  }

  private set(change: Partial<LinkState>): void {
    this.state = { ...this.state, ...change };
    this.options.onState();
  }
}
