/** Pre-emption by swap: KV that goes to host memory and comes back. */
export { HostPool, type SwapTotals } from "./host-pool.ts";
export { hostLink, withSwaps } from "./swap-cost.ts";
