/** The one door to time and chance: a real and a simulated clock, and seeded randomness per purpose. */
export { type Cancel, type Clock, isoTime, type ScheduleOptions, TimerClock } from "./clock.ts";
export { DueTimer } from "./due-timer.ts";
export { LateTicks } from "./late-ticks.ts";
export { Random } from "./random.ts";
export { RealClock, realClock, type TimerLag } from "./real-clock.ts";
export { type SecretBytes, secretBytes } from "./secret-bytes.ts";
export { SimClock } from "./sim-clock.ts";
