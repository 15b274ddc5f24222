/**
 * What models behind Anthropic's API take, which differs by generation: thinking by budget up to Claude 4.5, adaptive
 * thinking with an effort since; temperature, top_p and top_k up to 4.6. Read off the API's documentation and the official
 * client in November 2026. A model that is no Claude speaks the API as its servers first copied it.
 */
export interface MessagesTraits {
  readonly thinking: "budget" | "adaptive";
  /** Takes temperature, top_p and top_k. */
  readonly takesSampling: boolean;
}

const VERSION = /claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?/;
const ADAPTIVE_SINCE = 4.06;
const SAMPLING_UNTIL = 4.06;

/** @param model with or without a prefix, such as `anthropic/claude-opus-4-5`. */
export function messagesTraits(model: string): MessagesTraits {
  if (!/claude/i.test(model)) return { thinking: "budget", takesSampling: true };
  const [, major, minor] = VERSION.exec(model.toLowerCase()) ?? [];
  // A Claude without a number is a newer one.
  const version =
    major === undefined ? Number.POSITIVE_INFINITY : Number(major) + Number(minor ?? 0) / 100;
  return {
    thinking: version >= ADAPTIVE_SINCE ? "adaptive" : "budget",
    takesSampling: version <= SAMPLING_UNTIL,
  };
}
