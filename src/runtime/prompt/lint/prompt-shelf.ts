/**
 * The newest prompt of each conversation and of each agent, to say of the next one where it parts from it. Bounded in
 * conversations and in size: of a long prompt the first texts are kept (tools and system, where the causes are), of the rest
 * the names.
 */
import {
  type LayoutPart,
  type PromptFacts,
  type PromptLayout,
  textHash,
} from "../../../policy/index.ts";

export interface ShelvedPrompt {
  readonly layout: PromptLayout;
  readonly facts: PromptFacts;
  /** Where it was found, in words. */
  readonly where: string;
  /** Under which name. */
  readonly conversation: string;
  /** When it was sent, if that was recorded: milliseconds since 1970. */
  readonly wallMs: number | null;
}

export interface ShelfLimits {
  readonly conversationsMax: number;
  /** Texts kept of one prompt. */
  readonly charsEach: number;
  /** Of all, about, each part counted as `PART_CHARS` beside its text. */
  readonly charsMax: number;
}

const SHELF_LIMITS: ShelfLimits = {
  conversationsMax: 10_000,
  charsEach: 262_144,
  charsMax: 67_108_864,
};

const PART_CHARS = 100;

export class PromptShelf {
  readonly #limits: ShelfLimits;
  /** Oldest use first. */
  readonly #kept = new Map<string, { readonly prompt: ShelvedPrompt; readonly chars: number }>();
  #chars = 0;

  constructor(limits: Partial<ShelfLimits> = {}) {
    this.#limits = { ...SHELF_LIMITS, ...limits };
  }

  get size(): number {
    return this.#kept.size;
  }

  newest(name: string): ShelvedPrompt | undefined {
    return this.#kept.get(name)?.prompt;
  }

  put(name: string, prompt: ShelvedPrompt): void {
    this.#forget(name);
    const { layout, chars } = trimmed(prompt.layout, this.#limits.charsEach);
    this.#kept.set(name, { prompt: { ...prompt, layout }, chars });
    this.#chars += chars;
    const { conversationsMax, charsMax } = this.#limits;
    for (const oldest of this.#kept.keys()) {
      const fits = this.#kept.size <= conversationsMax && this.#chars <= charsMax;
      if (fits || this.#kept.size === 1) break;
      this.#forget(oldest);
    }
  }

  #forget(name: string): void {
    this.#chars -= this.#kept.get(name)?.chars ?? 0;
    this.#kept.delete(name);
  }
}

function trimmed(
  { parts }: PromptLayout,
  charsMax: number,
): { layout: PromptLayout; chars: number } {
  let chars = 0;
  const kept = parts.map((part): LayoutPart => {
    if (chars + part.chars > charsMax) return { ...part, text: null };
    chars += part.chars;
    return part;
  });
  return { layout: { parts: kept }, chars: chars + kept.length * PART_CHARS };
}

type Json = Readonly<Record<string, unknown>>;

/** @returns the conversation by the caller's word, or by its first message, which an agent sends with each step. */
export function conversationName(own: string | null, body: Json, { format }: PromptFacts): string {
  if (own !== null) return `${format} ${own.slice(0, 200)}`;
  const said = body.messages ?? body.input;
  const items: readonly unknown[] = Array.isArray(said) ? said : [said];
  const first = items.find((item) => !isSystem(item));
  return `${format} #${textHash(JSON.stringify(first) ?? "").toString(36)}`;
}

function isSystem(item: unknown): boolean {
  const role = typeof item === "object" && item !== null ? (item as { role?: unknown }).role : "";
  return role === "system" || role === "developer";
}

/**
 * @returns whose prompt it is: the agent's tools by name or, if it has none, how its system text begins, without what may be
 *   new each time. Empty if it has neither.
 */
export function agentName({ parts }: PromptLayout, { format, model }: PromptFacts): string {
  const tools = parts.filter(({ kind }) => kind === "tool").map(({ name }) => name);
  const system = parts.find(({ kind }) => kind === "system")?.text ?? "";
  if (tools.length === 0 && system === "") return "";
  const own = tools.length > 0 ? tools.sort().join("\n") : withoutVolatile(system.slice(0, 400));
  return `${format} ${model} @${textHash(own).toString(36)}`;
}

function withoutVolatile(text: string): string {
  return text.replace(/[\w:.+-]*\d[\w:.+-]*/g, "").slice(0, 120);
}
