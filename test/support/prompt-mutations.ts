/**
 * Requests of an agent with one planted change, and what a linter has to say of it: the cause, the field and its byte, and the
 * provider's own reason, which a simulated cache gives that was written without the linter.
 */
import { Random, SimClock } from "../../src/clock/index.ts";
import {
  type BreakCause,
  PromptLinter,
  recordedRequests,
  SimulatedPromptCache,
} from "../../src/runtime/index.ts";

type Json = Record<string, unknown>;
type Format = "anthropic" | "responses";

interface Planted {
  readonly after: Json;
  /** null: the linter has to find nothing. */
  readonly cause: BreakCause | null;
  /** From the body's root; undefined where any place in the part will do. */
  readonly field?: string;
  /** The characters that stand there in the newer body's field, up to the byte at fault. */
  readonly textBefore?: string;
}

const WORDS = "order parcel refund ship café naïve 東京 weight lane customs label return".split(
  " ",
);

export function words(random: Random, count: number): string {
  return Array.from({ length: count }, () => WORDS[random.int(WORDS.length)]).join(" ");
}

function toolOf(random: Random, name: string, format: Format): Json {
  const schema = {
    type: "object",
    properties: { query: { type: "string" }, limit: { type: "integer" } },
    required: ["query"],
  };
  const description = words(random, 12);
  return format === "anthropic"
    ? { name, description, input_schema: schema }
    : { type: "function", name, description, parameters: schema };
}

const digits = (random: Random, count: number): string =>
  Array.from({ length: count }, () => random.int(10)).join("");
const hex = (random: Random, count: number): string =>
  Array.from({ length: count }, () => random.int(16).toString(16)).join("");

/** A whole second of one day, so that two draws seldom meet. */
function stamp(random: Random): string {
  const two = (below: number): string => String(random.int(below)).padStart(2, "0");
  return `2026-11-29T${two(24)}:${two(60)}:${two(60)}Z`;
}

const uuid = (random: Random): string =>
  `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-a${hex(random, 3)}-${hex(random, 12)}`;

interface Base {
  readonly format: Format;
  readonly body: Json;
  readonly system: {
    readonly head: string;
    readonly time: string;
    readonly id: string;
    readonly tail: string;
  };
}

function baseOf(random: Random, format: Format): Base {
  const names = ["search", "fetch", "book", "cancel", "quote", "track"].slice(0, 3 + random.int(4));
  const tools = names.sort().map((name) => toolOf(random, name, format));
  const system = {
    head: `You help. ${words(random, 20)}. Now: `,
    time: stamp(random),
    id: uuid(random),
    tail: ` ${words(random, 30)}.`,
  };
  const text = systemText(system);
  const said = conversation(random, format);
  const body =
    format === "anthropic"
      ? {
          model: "claude-sonnet-4-5",
          max_tokens: 500,
          tools,
          system: [{ type: "text", text, cache_control: { type: "ephemeral" } }],
          messages: said,
        }
      : { model: "gpt-5.6", prompt_cache_key: "agent", tools, instructions: text, input: said };
  return { format, body, system };
}

const systemText = ({ head, time, id, tail }: Base["system"]): string =>
  `${head}${time}. Request ${id}.${tail}`;

function conversation(random: Random, format: Format): Json[] {
  const said: Json[] = [];
  const rounds = 2 + random.int(4);
  for (let i = 0; i < rounds; i += 1) {
    said.push({ role: "user", content: `${words(random, 15)} ${i}` });
    if (i === 0) said.push(...parallelCalls(random, format));
    said.push({ role: "assistant", content: words(random, 25) });
  }
  said.push({ role: "user", content: words(random, 10) });
  return said;
}

function parallelCalls(random: Random, format: Format): Json[] {
  const ids = [`call_${digits(random, 6)}a`, `call_${digits(random, 6)}b`];
  if (format === "responses") {
    return [
      ...ids.map((id) => ({ type: "function_call", call_id: id, name: "search", arguments: "{}" })),
      ...ids.map((id) => ({ type: "function_call_output", call_id: id, output: `of ${id}` })),
    ];
  }
  return [
    {
      role: "assistant",
      content: ids.map((id) => ({ type: "tool_use", id, name: "search", input: {} })),
    },
    {
      role: "user",
      content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: `of ${id}` })),
    },
  ];
}

type Mutate = (base: Base, random: Random) => Planted;

const saidIn = ({ format, body }: Base): Json[] =>
  (format === "anthropic" ? body.messages : body.input) as Json[];
const fieldOfSaid = ({ format }: Base): string => (format === "anthropic" ? "messages" : "input");
const withSaid = (base: Base, said: Json[]): Json => ({ ...base.body, [fieldOfSaid(base)]: said });
const toolsIn = ({ body }: Base): Json[] => body.tools as Json[];

function withSystem(base: Base, system: Partial<Base["system"]>): Pick<Planted, "after" | "field"> {
  const text = systemText({ ...base.system, ...system });
  if (base.format === "responses") {
    return { after: { ...base.body, instructions: text }, field: "instructions" };
  }
  const blocks = [{ type: "text", text, cache_control: { type: "ephemeral" } }];
  return { after: { ...base.body, system: blocks }, field: "system[0].text" };
}

/** A plain user's message that is neither the first nor the last. */
function earlierUser(base: Base, random: Random): number {
  const said = saidIn(base);
  const places = said.flatMap(({ role, content }, at) =>
    role === "user" && typeof content === "string" && at > 0 && at < said.length - 1 ? [at] : [],
  );
  return places[random.int(places.length)]!;
}

export const MUTATIONS: Readonly<Record<string, Mutate>> = {
  time: (base, random) => ({
    ...withSystem(base, { time: stamp(random) }),
    cause: "time_stamp",
    textBefore: base.system.head,
  }),
  id: (base, random) => ({
    ...withSystem(base, { id: uuid(random) }),
    cause: "random_id",
    textBefore: `${base.system.head}${base.system.time}. Request `,
  }),
  system: (base, random) => ({
    ...withSystem(base, { head: `You support. ${words(random, 20)}. Now: ` }),
    cause: "system_changed",
    textBefore: "You ",
  }),
  toolOrder: (base, random) => {
    const tools = [...toolsIn(base)];
    const at = random.int(tools.length - 1);
    [tools[at], tools[at + 1]] = [tools[at + 1]!, tools[at]!];
    return { after: { ...base.body, tools }, cause: "tools_reordered", field: `tools[${at}]` };
  },
  toolAdded: (base, random) => {
    const tools = [...toolsIn(base)];
    const at = random.int(tools.length + 1);
    tools.splice(at, 0, toolOf(random, "zoom", base.format));
    return { after: { ...base.body, tools }, cause: "tools_added", field: `tools[${at}]` };
  },
  toolGone: (base, random) => {
    const tools = [...toolsIn(base)];
    const at = random.int(tools.length);
    tools.splice(at, 1);
    return { after: { ...base.body, tools }, cause: "tools_removed" };
  },
  toolText: (base, random) => {
    const tools = [...toolsIn(base)];
    const at = random.int(tools.length);
    const description = `${String(tools[at]!.description)} more`;
    tools[at] = { ...tools[at], description };
    return {
      after: { ...base.body, tools },
      cause: "tool_changed",
      field: `tools[${at}].description`,
    };
  },
  keys: (base, random) => {
    const tools = [...toolsIn(base)];
    const at = random.int(tools.length);
    const name = base.format === "anthropic" ? "input_schema" : "parameters";
    const { type, properties, required } = tools[at]![name] as Json;
    tools[at] = { ...tools[at], [name]: { properties, type, required } };
    return {
      after: { ...base.body, tools },
      cause: "key_order",
      field: `tools[${at}].${name}.properties`,
    };
  },
  results: (base) => {
    const said = [...saidIn(base)];
    if (base.format === "anthropic") {
      const content = [...(said[2]!.content as Json[])].reverse();
      said[2] = { ...said[2], content };
      return {
        after: withSaid(base, said),
        cause: "results_reordered",
        field: "messages[2].content[0]",
      };
    }
    [said[3], said[4]] = [said[4]!, said[3]!];
    return { after: withSaid(base, said), cause: "results_reordered", field: "input[3]" };
  },
  history: (base, random) => {
    const said = [...saidIn(base)];
    const at = earlierUser(base, random);
    const old = String(said[at]!.content);
    said[at] = { ...said[at], content: `${old} please` };
    return {
      after: withSaid(base, said),
      cause: "history_changed",
      field: `${fieldOfSaid(base)}[${at}].content`,
      textBefore: old,
    };
  },
  cut: (base, random) => {
    const said = saidIn(base);
    // Behind the calls and their results.
    const from = said.findIndex(
      ({ role, content }, at) => at > 1 && role === "user" && typeof content === "string",
    );
    const more = { role: "user", content: words(random, 8) };
    return { after: withSaid(base, [...said.slice(from), more]), cause: "history_cut" };
  },
  model: (base) => ({
    after: { ...base.body, model: base.format === "anthropic" ? "claude-opus-4-1" : "gpt-5.7" },
    cause: "model_changed",
    field: "model",
  }),
  effort: (base) => ({
    after: {
      ...base.body,
      ...(base.format === "anthropic"
        ? { thinking: { type: "enabled", budget_tokens: 2_000 } }
        : { reasoning: { effort: "high" } }),
    },
    cause: "settings_changed",
    field: base.format === "anthropic" ? "thinking" : "reasoning",
  }),
  choice: (base) => ({
    after: {
      ...base.body,
      ...(base.format === "anthropic"
        ? { tool_choice: { type: "any" } }
        : { text: { format: { type: "json_object" } } }),
    },
    cause: "settings_changed",
    field: base.format === "anthropic" ? "tool_choice" : "text.format",
  }),
  cacheKey: (base) =>
    base.format === "anthropic"
      ? { after: { ...base.body, speed: "fast" }, cause: "settings_changed", field: "speed" }
      : {
          after: { ...base.body, prompt_cache_key: "other" },
          cause: "cache_key_changed",
          field: "prompt_cache_key",
        },
  tier: (base) =>
    base.format === "anthropic"
      ? // No mark is part of the prompt.
        { after: { ...base.body, cache_control: { type: "ephemeral" } }, cause: null }
      : {
          after: { ...base.body, service_tier: "flex" },
          cause: "settings_changed",
          field: "service_tier",
        },
  toolsAndSystem: (base, random) => {
    const { after } = withSystem(base, { time: stamp(random) });
    const { after: other, field } = MUTATIONS.toolOrder!(base, random);
    return { after: { ...after, tools: other.tools }, cause: "tools_reordered", field: field! };
  },
  goesOn: (base, random) => {
    const more = [
      { role: "assistant", content: words(random, 9) },
      { role: "user", content: words(random, 9) },
    ];
    return { after: withSaid(base, [...saidIn(base), ...more]), cause: null };
  },
  lastOther: (base, random) => {
    const said = [...saidIn(base)];
    said[said.length - 1] = { role: "user", content: `else ${words(random, 9)}` };
    return { after: withSaid(base, said), cause: null };
  },
  compacted: (base, random) => {
    if (base.format === "anthropic") return MUTATIONS.goesOn!(base, random);
    const said = [{ type: "compaction", encrypted_content: hex(random, 40) }, saidIn(base).at(-1)!];
    return { after: withSaid(base, said), cause: "history_cut" };
  },
};

export interface MutationScore {
  readonly mutation: string;
  /** What was wrong, each in a word; empty if all was right. */
  readonly wrong: readonly string[];
}

/** Plants one change, asks the linter and the simulated provider, and compares. */
export function scoreMutation(seed: number): MutationScore {
  const random = new Random(seed, "prompt-mutation");
  const format: Format = random.int(2) === 0 ? "anthropic" : "responses";
  const base = baseOf(random, format);
  const names = Object.keys(MUTATIONS);
  const mutation = names[seed % names.length]!;
  const planted = MUTATIONS[mutation]!(base, random);
  const isSame = JSON.stringify(planted.after) === JSON.stringify(base.body);
  const cause = isSame ? null : planted.cause;
  const cache = new SimulatedPromptCache({ clock: new SimClock() });
  const reason = cache.ask(planted.after, base.body).missReason;
  const linter = new PromptLinter();
  const add = (body: Json, line: number) => {
    const json = JSON.stringify({ conversation: "one", body });
    const source = { file: "log.jsonl", line, json };
    const linted = linter.add(recordedRequests(JSON.parse(json))[0]!, source)!;
    return { ...linted, json };
  };
  add(base.body, 1);
  const { found, reason: predicted, json } = add(planted.after, 2);
  const wrong: string[] = [];
  if (predicted !== reason) wrong.push(`reason ${predicted} for ${reason}`);
  if ((found?.cause ?? null) !== cause) wrong.push(`cause ${found?.cause} for ${cause}`);
  if (found === null || cause === null) return { mutation: `${format} ${mutation}`, wrong };
  const { field, textBefore } = planted;
  if (field !== undefined && found.field !== field) wrong.push(`field ${found.field} for ${field}`);
  if (textBefore !== undefined) wrong.push(...byteProblems(found, textBefore, json));
  return { mutation: `${format} ${mutation}`, wrong };
}

/** The byte in the part, and the character in the file, against what was planted. */
function byteProblems(
  found: { readonly byteInPart: number | null; readonly where: string },
  textBefore: string,
  json: string,
): string[] {
  const wrong: string[] = [];
  const bytes = Buffer.byteLength(textBefore);
  if (found.byteInPart === null || found.byteInPart < bytes) {
    wrong.push(`byte ${found.byteInPart} for ${bytes}`);
  }
  const [, line, column] = /:(\d+):(\d+)$/.exec(found.where) ?? [];
  const before = json.slice(0, Number(column) - 1);
  if (line !== "2" || !before.endsWith(JSON.stringify(textBefore).slice(1, -1))) {
    wrong.push(`place ${found.where}`);
  }
  // A time or an id is named by its beginning, whatever digit it is that differs.
  if (found.byteInPart !== bytes && !wrong.length)
    wrong.push(`byte ${found.byteInPart} for ${bytes}`);
  return wrong;
}
