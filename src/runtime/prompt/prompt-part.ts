/**
 * What a prompt is made of. Each part says how long it stays the same, since that alone decides where it may stand: what a
 * cache serves ends at the first byte that differs.
 *
 *     static    the same for everybody, until the next deployment
 *     session   the same for one conversation
 *     turn      new each time
 */

export type Stability = "static" | "session" | "turn";

/** The plain form of a tool. Those of OpenAI, Anthropic, MCP and `toolDeclarations` will do as well. */
export interface PromptTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export interface PromptDocument {
  readonly title?: string;
  readonly text: string;
}

/** In the form of the format that is compiled for; `{ role, content }` with a text is right in all of them. */
export type PromptMessage = Readonly<Record<string, unknown>>;

interface Named {
  /** For findings. Default: the kind. */
  readonly name?: string;
  readonly stability: Stability;
}

export type PromptPart =
  | (Named & { readonly kind: "tools"; readonly tools: readonly (PromptTool | object)[] })
  | (Named & { readonly kind: "system"; readonly text: string })
  | (Named & { readonly kind: "documents"; readonly documents: readonly PromptDocument[] })
  /** What was said so far, in order. It only ever grows. */
  | { readonly kind: "history"; readonly messages: readonly PromptMessage[] }
  /** What the user says now; at most one. */
  | { readonly kind: "input"; readonly text: string };

const RANK: Readonly<Record<Stability, number>> = { static: 0, session: 1, turn: 2 };

export function stabilityOf(part: PromptPart): Stability {
  if (part.kind === "history") return "session";
  return part.kind === "input" ? "turn" : part.stability;
}

/** Of one kind, the stable ones first, else as they were given. */
export function stableFirst<Part extends PromptPart>(parts: readonly Part[]): Part[] {
  return [...parts].sort((a, b) => RANK[stabilityOf(a)] - RANK[stabilityOf(b)]);
}

export function nameOf(part: PromptPart): string {
  return "name" in part && part.name !== undefined ? part.name : part.kind;
}

/** @returns the text of a part of system or documents, as it stands in the prompt. */
export function textOf(part: PromptPart & { readonly kind: "system" | "documents" }): string {
  if (part.kind === "system") return part.text;
  return part.documents
    .map(({ title, text }) => (title === undefined ? text : `# ${title}\n\n${text}`))
    .join("\n\n");
}
