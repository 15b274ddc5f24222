/** The provider's prompt cache: bodies laid out for it, and how well it is used. */
export { CacheMetrics } from "./cache-metrics.ts";
export { CacheWatch } from "./cache-watch.ts";
export { type LaidOutBody, laidOutBody } from "./laid-out-body.ts";
