/** What a join tells its driver to do, and how it ends. */
export type JoinDecision =
  | { readonly do: "begin"; readonly branch: number; readonly attempt: number }
  /** It is still out, and nobody waits for it any more. */
  | { readonly do: "cancel"; readonly branch: number; readonly attempt: number }
  /** The last decision; whatever was still out has been cancelled before it. */
  | { readonly do: "finish"; readonly ending: JoinEnding };

export type JoinEnding =
  /** All that the policy asks for is there, but not necessarily every branch. */
  | { readonly kind: "joined" }
  /** The deadline has come, and what is there has to do. */
  | { readonly kind: "partial" }
  | { readonly kind: "failed"; readonly why: JoinFailure; readonly branch: number | null };

/** `branch`: a required one has failed. `too-few`: k cannot be reached any more. */
export type JoinFailure = "branch" | "too-few" | "deadline" | "stopped";
