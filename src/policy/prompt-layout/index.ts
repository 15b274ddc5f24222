/** How a prompt is laid out for the provider's cache: one order, marks, and where two prompts part. */

export { MARKABLE, type MarkedBody, type MarkOptions, withCacheMarks } from "./cache-marks.ts";
export { type CacheMinimum, cacheMinimum, type MarkOutlook, markOutlook } from "./cache-minimum.ts";
export { inCanonicalOrder } from "./canonical-order.ts";
export { type Divergence, divergenceOf, type MissCause, sharedTokens } from "./divergence.ts";
export { type Followed, LayoutMemory, type LayoutMemoryOptions } from "./layout-memory.ts";
export { type ComparedPrompt, type MissReason, missReason } from "./miss-reason.ts";
export { type PromptFacts, promptFacts } from "./prompt-facts.ts";
export {
  type LayoutPart,
  layoutOf,
  type PartKind,
  type PromptLayout,
  tokensOf,
} from "./prompt-layout.ts";
export { type PromptPrice, promptPrice } from "./prompt-price.ts";
export {
  type CacheFormat,
  type CacheLifetime,
  type LifetimeName,
  type ProviderCacheRules,
  providerCacheRules,
  tellsMissReasons,
} from "./provider-cache-rules.ts";
export { textHash } from "./text-hash.ts";
