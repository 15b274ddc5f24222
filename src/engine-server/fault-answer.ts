/** Statuses that a provider might have answered, in OpenAI's form. `manx_fault` tells them from errors of the twin's own. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { US_PER_MS, US_PER_S } from "../core/index.ts";
import { sendJson } from "../http/index.ts";
import type { FaultStatus, StatusFault } from "./fault.ts";

const MEANINGS: Readonly<Record<FaultStatus, { type: string; code: string; message: string }>> = {
  429: { type: "rate_limit_error", code: "rate_limit_exceeded", message: "Too many requests" },
  500: { type: "server_error", code: "internal_error", message: "Internal error" },
  503: { type: "server_error", code: "service_unavailable", message: "Service unavailable" },
  529: { type: "overloaded_error", code: "overloaded", message: "Overloaded" },
};

/** The body of such an answer, and the data of such an event. */
export function faultBody(status: FaultStatus): Record<string, unknown> {
  const { type, code, message } = MEANINGS[status];
  const said = `${message} (a fault that the twin was asked for)`;
  return { error: { message: said, type, param: null, code, manx_fault: String(status) } };
}

export function sendFaultStatus(
  response: ServerResponse,
  status: FaultStatus,
  headers: OutgoingHttpHeaders = {},
): void {
  sendJson(response, status, faultBody(status), headers);
}

/** @param wallMs Unix time, for a date. */
export function retryHeaders(
  { retryUs, form }: Pick<StatusFault, "retryUs" | "form">,
  wallMs: number,
): OutgoingHttpHeaders {
  if (retryUs === undefined) return {};
  // Rounded up, for one that comes back too early is refused again.
  if (form === "ms") return { "retry-after-ms": String(Math.ceil(retryUs / US_PER_MS)) };
  if (form === "seconds") return { "retry-after": String(Math.ceil(retryUs / US_PER_S)) };
  const atMs = Math.ceil((wallMs + retryUs / US_PER_MS) / 1_000) * 1_000;
  return { "retry-after": new Date(atMs).toUTCString() };
}
