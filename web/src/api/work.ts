import { request } from "./client";
import type { App, CancelSelected, Job, Placement, ShareRequest } from "./documents";

/** The calls that change work: jobs by many or by a person's word, placements, and what an app may have. */

const at = encodeURIComponent;

/** The same job once more, as a new one. */
export const retryJob = (id: string) => request<Job>("POST", `/v1/jobs/${at(id)}/retry`);
/** A person's word about a job whose node was lost. */
export const resolveJob = (id: string, action: "requeue" | "fail") => request<Job>("POST", `/v1/jobs/${at(id)}/resolve`, { body: { action } });
/** Cancels exactly these, at most 1,000; a dry run says how each of them is. */
export const cancelJobs = (ids: string[], dryRun: boolean) =>
  request<CancelSelected>("POST", `/v1/jobs/cancel${dryRun ? "?dryRun=true" : ""}`, { body: { ids } });

export const getPlacement = (id: string) => request<Placement>("GET", `/v1/placements/${at(id)}`);
export const releasePlacement = (id: string) => request<Placement | undefined>("DELETE", `/v1/placements/${at(id)}`);

export const getApp = (id: string) => request<App>("GET", `/v1/apps/${at(id)}`);
/** Gives an app another weight and other bounds, as it was at that version. */
export const setShare = (id: string, body: ShareRequest, version: number) => request<App>("PUT", `/v1/admin/apps/${at(id)}/share`, { body, ifMatch: version });
