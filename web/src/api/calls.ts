import { request, stream } from "./client";
import type {
  Attempt,
  Decision,
  Drained,
  Explanation,
  Impact,
  ImpactRequest,
  Job,
  JobLog,
  LicenseRequest,
  List,
  Moved,
  NewLicense,
  Node,
  NodeHistory,
  Session,
  SetupDone,
  SetupRequest,
} from "./documents";

/** The calls of REST that the console makes, one function each. */

const at = encodeURIComponent;

export const getSession = () => request<Session>("GET", "/v1/session");
export const signIn = (name: string, password: string) => request<Session>("POST", "/v1/session", { body: { name, password } });
export const signOut = () => request<void>("DELETE", "/v1/session");
export const setUp = (body: SetupRequest) => request<SetupDone>("POST", "/v1/setup", { body });

export const createLicense = (body: LicenseRequest) => request<NewLicense>("POST", "/v1/admin/licenses", { body });

export const getNode = (id: string) => request<Node>("GET", `/v1/nodes/${at(id)}`);
/** What the server remembers of a node since it started. */
export const getNodeHistory = (id: string) => request<NodeHistory>("GET", `/v1/nodes/${at(id)}/history`);

/** What would be done to these nodes together. */
export const tryNodes = (body: ImpactRequest, signal: AbortSignal) => request<Impact>("POST", "/v1/admin/nodes/impact", { body, signal });
/** Each of these changes a node as it was at that version; a newer one is refused. */
export const cordon = (node: string, reason: string, version: number) =>
  request<Node>("POST", `/v1/admin/nodes/${at(node)}/cordon`, { body: { reason }, ifMatch: version });
/** The deadline is a span such as 10m; empty: what runs there may run to its end. */
export const drain = (node: string, deadline: string, reason: string, version: number) =>
  request<Drained>("POST", `/v1/admin/nodes/${at(node)}/drain`, { body: { reason, ...(deadline && { deadline }) }, ifMatch: version });
/** Lifts a hold of that kind; without one the operator's own, cordon and drain. */
export const uncordon = (node: string, kind: string, reason: string) =>
  request<Node>("POST", `/v1/admin/nodes/${at(node)}/uncordon`, { body: { reason, ...(kind && { kind }) } });
export const moveNode = (node: string, pool: string, reason: string, version: number) =>
  request<Moved>("PUT", `/v1/admin/nodes/${at(node)}/pool`, { body: { pool, reason }, ifMatch: version });

/** Has the node make another secret. */
export const rotateNode = (node: string, reason: string, version: number) =>
  request<Node>("POST", `/v1/admin/nodes/${at(node)}/rotate`, { body: { reason }, ifMatch: version });
/** Chooses which claimant of a node in quarantine is the node. */
export const repairNode = (node: string, keep: string, reason: string, version: number) =>
  request<Node>("POST", `/v1/admin/nodes/${at(node)}/repair`, { body: { keep, reason }, ifMatch: version });

export const revokeNode = (node: string, reason: string) => request<Node>("POST", `/v1/admin/nodes/${at(node)}/revoke`, { body: { reason } });
/** Frees its id and its seat. */
export const leaveNode = (node: string, reason: string) => request<Node>("POST", `/v1/admin/nodes/${at(node)}/leave`, { body: { reason } });

export const getJob = (id: string) => request<Job>("GET", `/v1/jobs/${at(id)}`);
export const cancelJob = (id: string) => request<Job>("POST", `/v1/jobs/${at(id)}/cancel`, { body: {} });
export const getAttempts = (id: string) => request<List<Attempt>>("GET", `/v1/jobs/${at(id)}/attempts`);
export const getDecision = (id: string) => request<Decision>("GET", `/v1/jobs/${at(id)}/decision`);
export const getExplanation = (id: string) => request<Explanation>("GET", `/v1/jobs/${at(id)}/explain`);
/** The log while it is written, until its attempt's end. */
export const followLog = (id: string, signal: AbortSignal) => stream(`/v1/jobs/${at(id)}/log?follow=true`, signal);
export const getLog = (id: string) => request<JobLog>("GET", `/v1/jobs/${at(id)}/log`);

/** One page of all jobs, the newest first. */
export function listJobs(query: { app?: string; state?: string; node?: string; pageToken?: string }) {
  const search = new URLSearchParams({ pageSize: "100" });
  for (const [key, value] of Object.entries(query)) if (value) search.set(key, value);
  return request<List<Job>>("GET", `/v1/jobs?${search}`);
}

export const artifactPath = (digest: string) => `/v1/artifacts/${at(digest)}`;
