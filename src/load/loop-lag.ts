/** How late this process's timers run while load is sent: a client that is held up measures itself (casebook LD-07). */
import { type Clock, LateTicks } from "../clock/index.ts";
import { Histogram } from "../stats/index.ts";

const EVERY_US = 10_000;

export class LoopLag extends LateTicks {
  readonly histogram: Histogram;

  constructor(clock: Clock) {
    const histogram = new Histogram();
    super(clock, EVERY_US, (lagUs) => histogram.record(lagUs));
    this.histogram = histogram;
  }
}
