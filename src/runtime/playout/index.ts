/** An even stream for the eyes from one that comes in bursts. */
export { PlayedOut, type PlayoutOptions, playout } from "./playout.ts";
export type { PlayoutReport } from "./playout-report.ts";
