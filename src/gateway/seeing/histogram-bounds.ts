/** Upper ends of the buckets, in seconds: about ten a decade around what matters, a factor of 1.25 where budgets lie. */
export const TTFT_BOUNDS_S: readonly number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32,
  0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.5, 8, 10, 15, 20, 30, 60, 120, 300,
];
export const ITL_BOUNDS_S: readonly number[] = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0065, 0.008, 0.01, 0.0125, 0.016, 0.02,
  0.025, 0.032, 0.04, 0.05, 0.065, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.8, 1, 2, 5,
  10, 30, 60,
];
export const E2E_BOUNDS_S: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15,
  20, 30, 45, 60, 90, 120, 300, 600,
];
export const WAIT_BOUNDS_S: readonly number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120,
];
/** Of what the gateway itself takes. */
export const OWN_BOUNDS_S: readonly number[] = [
  0.00005, 0.0001, 0.0002, 0.0003, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.025,
  0.1,
];
export const LAG_BOUNDS_S: readonly number[] = [
  0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5,
];
