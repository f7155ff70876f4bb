import { request } from "./client";
import type { Alarm, AuditEntry, AuditVerified, Isolation, List } from "./documents";

/** The calls that pages of alarms and of the audit make. */

const at = encodeURIComponent;
const search = (query: Record<string, string>) => new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));

export const listAlarms = (query: Record<string, string>) => request<List<Alarm>>("GET", `/v1/admin/alarms?${search({ pageSize: "50", ...query })}`);
export const getAlarm = (id: string) => request<Alarm>("GET", `/v1/admin/alarms/${at(id)}`);
export const acknowledge = (id: string) => request<Alarm>("POST", `/v1/admin/alarms/${at(id)}/ack`, { body: {} });
/** Keeps an alarm from people's eyes; 0s ends that. */
export const silence = (id: string, span: string, reason: string) =>
  request<Alarm>("POST", `/v1/admin/alarms/${at(id)}/silence`, { body: { for: span, ...(reason && { reason }) } });

export const listAudit = (query: Record<string, string>) => request<List<AuditEntry>>("GET", `/v1/admin/audit?${search({ pageSize: "100", ...query })}`);
export const verifyAudit = () => request<AuditVerified>("GET", "/v1/admin/audit/verify");
export const auditIsolation = (since: string) => request<Isolation>("GET", `/v1/admin/audit/isolation?${search({ since })}`);
