/** For the client's own timeline: what the gateway took, what the upstream took, and on which connection, as headers. */
import type { ConnectionMarks } from "./transport/connection-marks.ts";

export interface TimelineFacts {
  /** The request was there, whole. */
  readonly readyUs: number;
  /** The attempt whose answer this is was sent on its way. */
  readonly sentUs: number;
  readonly nowUs: number;
  /** Of that attempt. */
  readonly connection: ConnectionMarks | undefined;
  readonly attempts: number;
}

/** @returns names and values in turn. The stages of a new connection lie within the gateway's time. */
export function timelineMarks(facts: TimelineFacts): string[] {
  const { readyUs, sentUs, nowUs, connection, attempts } = facts;
  const timings = [
    timing("manx", sentUs - readyUs),
    ...stages(connection),
    timing("upstream", nowUs - sentUs),
  ];
  return [
    "server-timing",
    timings.join(", "),
    "x-manx-connection",
    connection?.reuse ?? "new",
    "x-manx-attempts",
    String(attempts),
  ];
}

function stages(connection: ConnectionMarks | undefined): string[] {
  if (connection === undefined || connection.reuse === "reused") return [];
  const { dnsUs, tcpUs, tlsUs } = connection;
  const tls = tlsUs > 0 ? [timing("tls", tlsUs)] : [];
  return [timing("dns", dnsUs), timing("tcp", tcpUs), ...tls];
}

function timing(name: string, us: number): string {
  return `${name};dur=${(us / 1_000).toFixed(3)}`;
}
