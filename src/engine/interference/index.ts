/** Who else uses the GPU, and what is left of it. */
export { type DayOfLoad, HourlyLoad } from "./hourly-load.ts";
export { finishUs, type Interference, together } from "./interference.ts";
export { type Neighbour, NoisyNeighbour } from "./noisy-neighbour.ts";
