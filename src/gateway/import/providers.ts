/** Providers by the names that LiteLLM and Portkey give them: where they are, what they speak, which variable holds the key. */
export interface Provider {
  /** Undefined: only what the file itself says. */
  readonly url?: string;
  readonly format: "openai" | "anthropic";
  readonly kind: "provider" | "vllm" | "other";
  /** The variable in which its key is by custom. */
  readonly variable: string;
  readonly authHeader?: "api-key";
  readonly canPrefill?: true;
}

const openai = (url: string, variable: string): Provider => ({
  url,
  format: "openai",
  kind: "provider",
  variable,
});

/** Those that speak one of the two formats under `/v1`; others have no equal here. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: openai("https://api.openai.com", "OPENAI_API_KEY"),
  anthropic: {
    url: "https://api.anthropic.com",
    format: "anthropic",
    kind: "provider",
    variable: "ANTHROPIC_API_KEY",
    canPrefill: true,
  },
  azure: {
    format: "openai",
    kind: "provider",
    variable: "AZURE_API_KEY",
    authHeader: "api-key",
  },
  vllm: { format: "openai", kind: "vllm", variable: "VLLM_API_KEY" },
  ollama: {
    format: "openai",
    kind: "other",
    variable: "OLLAMA_API_KEY",
    url: "http://127.0.0.1:11434",
  },
  deepseek: openai("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
  fireworks: openai("https://api.fireworks.ai/inference", "FIREWORKS_API_KEY"),
  groq: openai("https://api.groq.com/openai", "GROQ_API_KEY"),
  mistral: openai("https://api.mistral.ai", "MISTRAL_API_KEY"),
  openrouter: openai("https://openrouter.ai/api", "OPENROUTER_API_KEY"),
  together: openai("https://api.together.xyz", "TOGETHER_API_KEY"),
  xai: openai("https://api.x.ai", "XAI_API_KEY"),
};

const OTHER_NAMES: Readonly<Record<string, string>> = {
  "azure-openai": "azure",
  "fireworks-ai": "fireworks",
  "mistral-ai": "mistral",
  "together-ai": "together",
  "x-ai": "xai",
  custom_openai: "openai",
  fireworks_ai: "fireworks",
  hosted_vllm: "vllm",
  ollama_chat: "ollama",
  openai_like: "openai",
  "text-completion-openai": "openai",
  together_ai: "together",
};

/** @returns our name for it with what is known, or undefined for one that speaks neither format. */
export function findProvider(name: string): { name: string; provider: Provider } | undefined {
  const own = OTHER_NAMES[name] ?? name;
  if (!Object.hasOwn(PROVIDERS, own)) return undefined;
  return { name: own, provider: PROVIDERS[own]! };
}
