import type { AlarmRow, Delta, Filter, FleetRow, JobRow, NodeRow, PlacementRow, PoolRow, Snapshot } from "../wire/messages";

/**
 * The rows of all subscribed topics, outside of React: a map per topic, one
 * publication per animation frame, however many deltas came.
 */

/** A row and when it came (Date.now()), so that its ages can be counted on. */
export type Live<Row> = Row & { received: number };

/** The row of each topic. */
export interface Topics {
  fleet: FleetRow;
  pools: PoolRow;
  nodes: NodeRow;
  jobs: JobRow;
  alarms: AlarmRow;
  placements: PlacementRow;
  [node: `node/${string}`]: NodeRow;
  [job: `job/${string}`]: JobRow;
}
export type TopicName = "fleet" | "pools" | "nodes" | "jobs" | "alarms" | "placements" | `node/${string}` | `job/${string}`;
type AnyRow = Live<FleetRow | PoolRow | NodeRow | JobRow | AlarmRow | PlacementRow>;

/** What a page sees of a topic; a new object whenever something changed. */
export interface View<Row> {
  /** No row yet; some parts of the first snapshot; all of it. */
  phase: "loading" | "partial" | "ready" | "refused";
  /** Why the server does not show the topic, when it refused it. */
  refusal?: { code: string; detail: string };
  rows: Live<Row>[];
  byId: ReadonlyMap<string, Live<Row>>;
}

const nothing: View<AnyRow> = { phase: "loading", rows: [], byId: new Map() };

class Topic {
  rows = new Map<string, AnyRow>();
  rev = -1; // -1: waits for a snapshot
  /** The snapshot that is coming in; the old rows stay until it is whole. */
  incoming: Map<string, AnyRow> | null = null;
  complete = false;
  readers = 0;
  request = ""; // id of the newest subscription
  ending: ReturnType<typeof setTimeout> | undefined;
  refusal: { code: string; detail: string } | null = null;
  view: View<AnyRow> = nothing;
  readonly listeners = new Set<() => void>();

  constructor(readonly filter: Filter) {}
}

/** What the store asks of the connection. */
export interface Wire {
  subscribe(topic: string, filter: Filter, id: string): void;
  more(topic: string, part: number): void;
  unsubscribe(topic: string): void;
}

const noFilter: Filter = { pool: "", state: "" };
/** A page that was left may be come back to at once. */
const keepFor = 4_000;
/** From a refusal that may pass to the next try. */
const again = 2_000;

export class Store {
  private readonly topics = new Map<string, Topic>();
  private readonly changed = new Set<Topic>();
  private flushing = false;
  private requests = 0;

  constructor(
    private readonly wire: Wire,
    private readonly frame: (flush: () => void) => void = nextFrame,
  ) {}

  /** Reads a topic until the returned function is called. */
  watch(name: TopicName, listener: () => void): () => void {
    let topic = this.topics.get(name);
    if (!topic) {
      topic = new Topic(noFilter);
      this.topics.set(name, topic);
      this.begin(name, topic);
    }
    const watched = topic;
    clearTimeout(watched.ending);
    watched.readers++;
    watched.listeners.add(listener);
    return () => {
      watched.listeners.delete(listener);
      if (--watched.readers === 0) watched.ending = setTimeout(() => this.end(name), keepFor);
    };
  }

  view<N extends TopicName>(name: N): View<Topics[N]> {
    return (this.topics.get(name)?.view ?? nothing) as unknown as View<Topics[N]>;
  }

  /** A new session: every topic begins anew, its rows stay in sight meanwhile. */
  resubscribe(): void {
    for (const [name, topic] of this.topics) this.begin(name, topic);
  }

  /** Forgets everything, at sign-out. */
  clear(): void {
    for (const topic of this.topics.values()) {
      clearTimeout(topic.ending);
      topic.view = nothing;
      topic.complete = false;
      topic.refusal = null;
      topic.rows.clear();
    }
    for (const [name, topic] of this.topics) if (topic.readers === 0) this.topics.delete(name);
  }

  snapshot(s: Snapshot): void {
    const topic = this.topics.get(s.topic);
    if (!topic) return;
    if (s.part === 0 || !topic.incoming) topic.incoming = new Map();
    for (const row of stamped(s)) topic.incoming.set(row.id, row);
    if (s.last) {
      topic.rows = topic.incoming;
      topic.incoming = null;
      topic.rev = s.rev;
      topic.complete = true;
      topic.refusal = null;
    } else {
      this.wire.more(s.topic, s.part + 1);
    }
    this.touch(topic);
  }

  delta(d: Delta): void {
    const topic = this.topics.get(d.topic);
    if (!topic || topic.rev < 0) return;
    if (d.prev !== topic.rev) {
      this.begin(d.topic, topic);
      return;
    }
    for (const row of stamped(d)) topic.rows.set(row.id, row);
    for (const id of d.deletes) topic.rows.delete(id);
    topic.rev = d.rev;
    this.touch(topic);
  }

  /** The server does not show a topic: for good, or not now. */
  refused(request: string, refusal: { code: string; detail: string }): void {
    for (const [name, topic] of this.topics) {
      if (topic.request !== request) continue;
      if (refusal.code === "unavailable") {
        setTimeout(() => this.topics.get(name) === topic && this.begin(name, topic), again);
        return;
      }
      topic.refusal = refusal;
      topic.rows = new Map();
      this.touch(topic);
    }
  }

  private begin(name: string, topic: Topic): void {
    topic.rev = -1;
    topic.incoming = null;
    topic.request = String(++this.requests);
    this.wire.subscribe(name, topic.filter, topic.request);
  }

  private end(name: string): void {
    this.topics.delete(name);
    this.wire.unsubscribe(name);
  }

  private touch(topic: Topic): void {
    this.changed.add(topic);
    if (this.flushing) return;
    this.flushing = true;
    this.frame(() => this.flush());
  }

  private flush(): void {
    this.flushing = false;
    for (const topic of this.changed) {
      const rows = topic.complete ? topic.rows : (topic.incoming ?? topic.rows);
      topic.view = {
        ...(topic.refusal ? { phase: "refused", refusal: topic.refusal } : { phase: topic.complete ? "ready" : "partial" }),
        rows: [...rows.values()],
        byId: new Map(rows),
      };
      for (const listener of topic.listeners) listener();
    }
    this.changed.clear();
  }
}

function stamped(message: Snapshot | Delta): AnyRow[] {
  const received = Date.now();
  const rows = [...message.fleet, ...message.pools, ...message.nodes, ...message.jobs, ...message.alarms, ...message.placements];
  return rows.map((row) => Object.assign(row, { received }));
}

/** Hidden pages get no animation frames. */
function nextFrame(flush: () => void): void {
  if (globalThis.document?.hidden === false) requestAnimationFrame(flush);
  else setTimeout(flush, 16);
}
