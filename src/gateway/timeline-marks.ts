/** For the client's own timeline: what the gateway took, what the upstream took, and on which connection, as headers. */
import { msFixed } from "./seeing/index.ts";
import type { ConnectionMarks } from "./transport/connection-marks.ts";

export interface TimelineFacts {
  /** The request was there, whole. */
  readonly readyUs: number;
  /** Of the time since, it has waited to be let in. */
  readonly queuedUs: number;
  /** The first attempt began. */
  readonly firstBeganUs: number;
  /** The attempt whose answer this is began, and was sent on its way. */
  readonly beganUs: number;
  readonly sentUs: number;
  readonly nowUs: number;
  /** Of that attempt. */
  readonly connection: ConnectionMarks | undefined;
  readonly attempts: number;
}

/**
 * The parts of `Server-Timing` follow each other: queue (admission), retry (attempts before this one), connect, upstream
 * (until now), and manx, which is what is left of the whole: the gateway's own time. Parts that took no time are left out;
 * dns, tcp and tls lie within connect.
 *
 * @returns names and values in turn.
 */
export function timelineMarks(facts: TimelineFacts): string[] {
  const { readyUs, queuedUs, beganUs, sentUs, nowUs, connection, attempts } = facts;
  const retryUs = beganUs - facts.firstBeganUs;
  const isReused = connection?.reuse === "reused";
  const connectUs = isReused ? 0 : sentUs - beganUs;
  const ownUs = sentUs - readyUs - queuedUs - retryUs - connectUs;
  const timings =
    timing("manx", ownUs) +
    optional(", queue", queuedUs) +
    optional(", retry", retryUs) +
    optional(", connect", connectUs) +
    (connection === undefined || isReused ? "" : stages(connection)) +
    timing(", upstream", nowUs - sentUs);
  return [
    "server-timing",
    timings,
    "x-manx-connection",
    connection?.reuse ?? "new",
    "x-manx-attempts",
    String(attempts),
  ];
}

function stages({ dnsUs, tcpUs, tlsUs }: ConnectionMarks): string {
  return timing(", dns", dnsUs) + timing(", tcp", tcpUs) + optional(", tls", tlsUs);
}

function optional(name: string, us: number): string {
  return us > 0 ? timing(name, us) : "";
}

function timing(name: string, us: number): string {
  return `${name};dur=${msFixed(us)}`;
}
