import { request } from "./client";
import type {
  Alignment,
  App,
  AppBindings,
  BindingRequest,
  Candidates,
  Job,
  List,
  NewNode,
  NodeRequest,
  Pool,
  PoolChange,
  PoolChanged,
  PoolPoint,
  PoolRequest,
  Promoted,
  PromoteRequest,
  Role,
  Usage,
} from "./documents";

/** The calls that pages of pools, and of what resolves to them, make. */

const at = encodeURIComponent;
const admin = (id: string) => `/v1/admin/node-pools/${at(id)}`;
const dry = (run: boolean) => (run ? "?dryRun=true" : "");

/** A pool with who resolves to it. */
export const getPool = (id: string) => request<Pool>("GET", `/v1/pools/${at(id)}`);
/** How its slots were, a point a minute, the oldest first. */
export const getPoolHistory = (id: string) => request<List<PoolPoint>>("GET", `/v1/pools/${at(id)}/history`);
export const createPool = (body: PoolRequest) => request<Pool>("POST", "/v1/admin/node-pools", { body });
/** Changes a pool as it was at that version; a newer one is refused. */
export const changePool = (id: string, body: PoolChange, version: number) => request<PoolChanged>("PUT", admin(id), { body, ifMatch: version });
/** What that change would do. */
export const tryPool = (id: string, body: PoolChange, signal: AbortSignal) => request<PoolChanged>("PUT", admin(id) + dry(true), { body, signal });
export const deletePool = (id: string, reason: string, version: number) =>
  request<void>("DELETE", `${admin(id)}${reason && `?reason=${encodeURIComponent(reason)}`}`, { ifMatch: version });
/** Ends a mass loss: the work of its silent nodes goes elsewhere. */
export const releasePool = (id: string, reason: string) => request<Pool>("POST", `/v1/pools/${at(id)}/release`, { body: { reason } });
export const promote = (id: string, body: PromoteRequest, dryRun: boolean) => request<Promoted>("POST", `${admin(id)}/promote${dry(dryRun)}`, { body });
export const createNode = (body: NodeRequest) => request<NewNode>("POST", "/v1/admin/nodes", { body });
export const listRoles = () => request<List<Role>>("GET", "/v1/admin/roles");

/** Slot-seconds by app, pool and day. */
export function getUsage(query: { since: string; pool?: string; app?: string }) {
  return request<List<Usage>>("GET", `/v1/usage?${new URLSearchParams(query)}`);
}

/** The newest queued jobs of all pools. */
export const listQueued = () => request<List<Job>>("GET", "/v1/jobs?state=queued&pageSize=500");
export const createApp = (id: string, owner: string) => request<App>("POST", "/v1/admin/apps", { body: { id, ...(owner && { owner }) } });
/** All apps with where their work goes, page by page. */
export const listBindings = (pageToken: string) =>
  request<List<AppBindings>>("GET", `/v1/admin/app-pool-bindings?${new URLSearchParams({ pageSize: "100", ...(pageToken && { pageToken }) })}`);
export const getBindings = (app: string) => request<AppBindings>("GET", `/v1/admin/app-pool-bindings/${at(app)}`);
export const putBinding = (app: string, body: BindingRequest, version: number) =>
  request<AppBindings>("PUT", `/v1/admin/app-pool-bindings/${at(app)}`, { body, ifMatch: version });
export const getAlignment = () => request<Alignment>("GET", "/v1/admin/alignment");
/** Where work of an app would go now, without any effect. */
export function getCandidates(app: string, query: Record<string, string>) {
  return request<Candidates>("GET", `/v1/apps/${at(app)}/candidates?${new URLSearchParams(query)}`);
}
