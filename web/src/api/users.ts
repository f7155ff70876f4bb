import { request } from "./client";
import type { List, RolesRequest, User } from "./documents";

/** The calls that the page of users makes. */

const at = encodeURIComponent;

export const listUsers = (pageToken = "") =>
  request<List<User>>("GET", `/v1/admin/users?${new URLSearchParams({ pageSize: "100", ...(pageToken && { pageToken }) })}`);
export const setRoles = (id: string, body: RolesRequest) => request<User>("PUT", `/v1/admin/users/${at(id)}/roles`, { body });
