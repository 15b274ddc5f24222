/** How a request came by its connection, and what setting that up has cost. */
export type ConnectionReuse =
  /** Opened for it, or ahead of need and first used by nobody else; with a full handshake if there is TLS. */
  | "new"
  /** Opened for it, with a TLS session of an earlier connection. */
  | "resumed"
  /** It was open already: this request has paid for none of the times below. */
  | "reused";

export type WireProtocol = "http/1.1" | "h2";

/** Times in whole µs, 0 where there was no such step: an address needs no DNS, plain HTTP no TLS. */
export interface ConnectionMarks {
  readonly reuse: ConnectionReuse;
  readonly protocol: WireProtocol;
  readonly dnsUs: number;
  readonly tcpUs: number;
  readonly tlsUs: number;
}

/** Of the same connection, for a request that finds it open. */
export function reusedMarks({ protocol, dnsUs, tcpUs, tlsUs }: ConnectionMarks): ConnectionMarks {
  return { reuse: "reused", protocol, dnsUs, tcpUs, tlsUs };
}
