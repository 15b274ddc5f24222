/** How a prompt is laid out for the provider's cache: one order, marks, and where two prompts part. */

export { type MarkedBody, type MarkOptions, withCacheMarks } from "./cache-marks.ts";
export { type CacheMinimum, cacheMinimum, type MarkOutlook, markOutlook } from "./cache-minimum.ts";
export { inCanonicalOrder } from "./canonical-order.ts";
export { type Divergence, divergenceOf, type MissCause, sharedTokens } from "./divergence.ts";
export { type Followed, LayoutMemory, type LayoutMemoryOptions } from "./layout-memory.ts";
export { type LayoutPart, layoutOf, type PartKind, type PromptLayout } from "./prompt-layout.ts";
export { textHash } from "./text-hash.ts";
