/** The processes that serve one port together, as one of them sees the others. */
export interface FleetMember {
  /** Counted from 1 over all that were ever started. */
  readonly worker: number;
  readonly pid: number;
  readonly state: "starting" | "serving" | "leaving" | "gone";
}

export interface MetricsPage {
  readonly contentType: string;
  readonly text: string;
}

export interface Fleet {
  /** As many as there should be. */
  readonly size: number;
  members(): readonly FleetMember[];
  /** The page of all together; `own` if nobody can be asked. Within bounded time, never rejects. */
  metrics(own: MetricsPage, accept: string | undefined): Promise<MetricsPage>;
}
