import type { Problem } from "./documents";

/** REST as the console uses it: JSON, the session's cookie, problem+json as an error. */

/** A refusal by the server, or no answer at all (code unreachable). */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly requestId: string,
    readonly retryAfter = 0, // seconds
  ) {
    super(detail || code);
    this.name = "Refusal";
  }
}

export interface Options {
  body?: unknown;
  ifMatch?: number;
  signal?: AbortSignal;
}

/** Makes one request and gives its document; throws a Refusal. */
export async function request<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

/** Gives an answer's text as it comes; throws a Refusal, and an error when it is cut. */
export async function* stream(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const { body } = await send("GET", path, { signal });
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      const text = decoder.decode(value, { stream: !done });
      if (text) yield text;
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it may have ended
  }
}

async function send(method: string, path: string, options: Options): Promise<Response> {
  const headers: Record<string, string> = {};
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.ifMatch !== undefined) headers["If-Match"] = `"${options.ifMatch}"`;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
      ...(options.signal && { signal: options.signal }),
    });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Refusal(0, "unreachable", "The server does not answer.", "");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<Refusal> {
  const problem: Partial<Problem> = await response.json().catch(() => ({}));
  return new Refusal(
    response.status,
    problem.code ?? "unavailable",
    problem.detail || problem.title || response.statusText,
    problem.requestId ?? response.headers.get("X-Request-Id") ?? "",
    Number(response.headers.get("Retry-After") ?? 0),
  );
}
