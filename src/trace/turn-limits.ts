/** How much one turn may record. What is over a limit is counted in the turn, never silently lost. */
export interface TurnLimits {
  /** Default 1,000. Further ones become one `dropped` span for each parent, so that their time is not taken for glue. */
  readonly spansMax: number;
  /** Characters of all names, keys and values of a turn. Default 65,536. */
  readonly textCharsMax: number;
  /** A longer value, or a longer name of a span, is cut. Default 1,024 characters. */
  readonly valueCharsMax: number;
  /** Of each span. Default 64. */
  readonly eventsMax: number;
  /** Of each span. Default 32. */
  readonly linksMax: number;
}

export const TURN_LIMITS: TurnLimits = {
  spansMax: 1_000,
  textCharsMax: 65_536,
  valueCharsMax: 1_024,
  eventsMax: 64,
  linksMax: 32,
};

/** What a turn's limits kept out. */
export interface DroppedCounts {
  readonly spans: number;
  readonly attributes: number;
  readonly events: number;
  readonly links: number;
  /** Values and names that were cut. */
  readonly cut: number;
}
