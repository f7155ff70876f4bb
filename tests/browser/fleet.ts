import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A real server with its own PostgreSQL, and real agents, for one test file. */

const root = join(import.meta.dirname, "../..");
const binaries = join(import.meta.dirname, "out/bin");

let built = false;
function build() {
  if (built) return;
  mkdirSync(binaries, { recursive: true });
  execFileSync("go", ["build", "-o", `${binaries}/`, "./backend/cmd/rockpool", "./agent/cmd/rockpool-agent"], { cwd: root, stdio: "inherit" });
  built = true;
}

/** A folder for one server and its agents. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rockpool-browser-"));
  chmodSync(folder, 0o755); // as root PostgreSQL runs as an ordinary user
  return folder;
}

let first = "";
/** The data of a server that was started once and stopped: every other one begins with a copy, and not with the making of a database. */
async function firstData(): Promise<string> {
  if (first) return first;
  const folder = newFolder();
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const server = runServer(folder, await freePort());
  await until("the first server is ready", () => alive(server) && server.output.match(/#token=/)?.[0], 60_000);
  server.process.kill("SIGTERM");
  await ended(server);
  first = join(folder, "server");
  return first;
}

function alive(running: Running): true {
  if (running.process.exitCode !== null) throw new Over(running.output);
  return true;
}

function runServer(folder: string, port: number, env: Record<string, string> = {}): Running {
  const args = ["serve", "--listen", `127.0.0.1:${port}`, "--data-dir", join(folder, "server")];
  return run(join(binaries, "rockpool"), args, { ROCKPOOL_NAME: "prod-eu", ...env });
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** What can't become true any more is not waited for. */
class Over extends Error {}

/** Waits for a named condition; the last state is told when it does not come. */
export async function until<T>(what: string, ask: () => Promise<T | undefined> | T | undefined, within = 30_000): Promise<T> {
  const end = Date.now() + within;
  let last: unknown;
  while (Date.now() < end) {
    try {
      const value = await ask();
      if (value !== undefined) return value;
    } catch (error) {
      if (error instanceof Over) throw error;
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within ${within} ms${last ? `; last: ${last}` : ""}`);
}

interface Running {
  process: ChildProcess;
  output: string;
}

function run(path: string, args: string[], env: Record<string, string> = {}): Running {
  const child = spawn(path, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const running: Running = { process: child, output: "" };
  const keep = (chunk: Buffer) => {
    running.output = (running.output + chunk.toString()).slice(-64_000);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  return running;
}

function ended(running: Running): Promise<void> {
  if (running.process.exitCode !== null || running.process.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => running.process.once("exit", () => resolve()));
}

export interface AgentOptions {
  slots?: number;
  region?: string;
  license: string;
  labels?: Record<string, string>;
}

export class Fleet {
  private server: Running | undefined;
  private readonly agents = new Map<string, Running>();
  private cookie = "";
  /** The one-time link of the first start. */
  setupLink = "";

  private constructor(
    readonly folder: string,
    readonly port: number,
    private readonly settings: Record<string, string>,
  ) {}

  /** Settings of the server as its environment has them. */
  static async start(settings: Record<string, string> = {}): Promise<Fleet> {
    build();
    const folder = newFolder();
    // Ownership goes along: PostgreSQL's files belong to who runs it.
    execFileSync("cp", ["-a", await firstData(), join(folder, "server")]);
    const fleet = new Fleet(folder, await freePort(), settings);
    await fleet.startServer();
    fleet.setupLink = await until("the setup link", () => fleet.server?.output.match(/http\S+#token=\S+/)?.[0]);
    return fleet;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async startServer(): Promise<void> {
    const server = runServer(this.folder, this.port, this.settings);
    this.server = server;
    await until(
      "the server is ready",
      async () => {
        alive(server);
        const response = await fetch(`${this.url}/readyz`);
        return response.ok ? true : undefined;
      },
      60_000,
    );
  }

  /** PostgreSQL stands still with all of its processes; the answer lets it go on. */
  pauseDatabase(): () => void {
    const pids = postgres(join(this.folder, "server"));
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    return () => {
      for (const pid of pids) process.kill(pid, "SIGCONT");
    };
  }

  async killServer(): Promise<void> {
    this.server?.process.kill("SIGKILL");
    if (this.server) await ended(this.server);
  }

  /** Makes the first superadmin without a browser, and signs in for the calls below. */
  async setUp(name: string, password: string): Promise<void> {
    const setupToken = new URL(this.setupLink).hash.replace("#token=", "");
    await this.call("POST", "/v1/setup", { setupToken, name, password });
    await this.signIn(name, password);
  }

  async signIn(name: string, password: string): Promise<void> {
    const response = await fetch(`${this.url}/v1/session`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: this.url },
      body: JSON.stringify({ name, password }),
    });
    if (!response.ok) throw new Error(`sign in: ${await response.text()}`);
    this.cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  }

  /** One REST call as the superadmin. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.url + path, {
      method,
      headers: { Origin: this.url, Cookie: this.cookie, ...(body !== undefined && { "Content-Type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  async license(user: string, nodes = 5): Promise<string> {
    const { licenseCode } = await this.call<{ licenseCode: string }>("POST", "/v1/admin/licenses", { user, nodes, roles: ["worker", "edge"] });
    return licenseCode;
  }

  async app(id: string, owner?: string): Promise<void> {
    await this.call("POST", "/v1/admin/apps", { id, ...(owner && { owner }) });
  }

  /** Joins an agent that can run the example tools of this folder. */
  startAgent(id: string, options: AgentOptions): void {
    mkdirSync(join(this.folder, id, "state"), { recursive: true, mode: 0o700 });
    this.runAgent(id, id, options);
  }

  /** The agent of a node, under the name of its process here. */
  private runAgent(node: string, as: string, options: AgentOptions): void {
    const config = join(this.folder, `${as}.toml`);
    writeFileSync(config, agentConfig(this.url, join(this.folder, as), node, options));
    this.agents.set(as, run(join(binaries, "rockpool-agent"), ["--config", config], { ROCKPOOL_AGENT_LICENSE: options.license }));
  }

  /** The same agent once more: its state was copied while it ran. */
  copyAgent(id: string, as: string, options: AgentOptions): void {
    cpSync(join(this.folder, id, "state"), join(this.folder, as, "state"), { recursive: true, filter: (path) => !path.endsWith(".sock") });
    chmodSync(join(this.folder, as, "state"), 0o700);
    this.runAgent(id, as, options);
  }

  /** The process of that name ends and begins anew. */
  async restartAgent(as: string): Promise<void> {
    await this.killAgent(as);
    this.agents.set(as, run(join(binaries, "rockpool-agent"), ["--config", join(this.folder, `${as}.toml`)]));
  }

  /** Takes an agent's tool away: no job can be started there. */
  breakTool(id: string): void {
    rmSync(join(this.folder, id, "tool.sh"));
  }

  async killAgent(id: string): Promise<void> {
    const agent = this.agents.get(id);
    if (!agent) return;
    this.agents.delete(id);
    agent.process.kill("SIGKILL");
    await ended(agent);
  }

  async awaitLease(node: string, lease: string): Promise<void> {
    await until(`${node} is ${lease}: ${this.agents.get(node)?.output.slice(-500) ?? ""}`, async () => {
      const found = await this.call<{ lease: string }>("GET", `/v1/nodes/${node}`);
      return found.lease === lease ? true : undefined;
    });
  }

  async stop(): Promise<void> {
    for (const agent of this.agents.values()) agent.process.kill("SIGTERM");
    await Promise.all([...this.agents.values()].map(ended));
    this.server?.process.kill("SIGTERM");
    if (this.server) await ended(this.server);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The postmaster of a server's data, and its children. */
function postgres(data: string): number[] {
  const file = readdirSync(data, { recursive: true }).find((name) => String(name).endsWith("postmaster.pid"));
  const first = Number(readFileSync(join(data, String(file)), "utf8").split("\n")[0]);
  const children = readFileSync(`/proc/${first}/task/${first}/children`, "utf8").trim().split(" ");
  return [first, ...children.filter(Boolean).map(Number)];
}

/** What the tool writes: terminal sequences, markup and a turn of the direction are harmless on the page. */
const tool = String.raw`#!/bin/sh
printf '\033[31mred\033[0m <b id="markup">bold</b> \342\200\256turned\n'
echo '{"score": 92.5447}' >result.json
echo frames >frames.txt
sleep "$1"
echo done
`;

/** An agent with the built-in checksum, and with a tool that takes as long as the job says. */
function agentConfig(url: string, state: string, id: string, o: AgentOptions): string {
  writeFileSync(join(state, "tool.sh"), tool, { mode: 0o755 });
  const labels = Object.entries(o.labels ?? {}).map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}\n`);
  return `server_url = ${JSON.stringify(url)}
state_dir = ${JSON.stringify(join(state, "state"))}
node_id = ${JSON.stringify(id)}
slots = ${o.slots ?? 4}
region = ${JSON.stringify(o.region ?? "eu-west")}
stop_timeout = "1s"
builtins = ["checksum"]

[labels]
${labels.join("")}
[endpoints]
whip = "https://${id}.example.net/whip"

[[runner]]
name = "score"
argv = [${JSON.stringify(join(state, "tool.sh"))}, "{{param.seconds}}"]
outputs = ["result.json", "frames.txt"]
timeout = "10m"

[runner.params.seconds]
type = "int"
min = 0
max = 600
default = "0"

[runner.result]
file = "result.json"
format = "json"
`;
}
