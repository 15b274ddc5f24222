/**
 * The flags of `manx engine`: each a value of the section `engine` under a shorter name. They have no defaults of their own;
 * what is not given here comes from a variable, the file or the schema, and what is given is checked by the schema, too.
 * Levers that few pull have no flag: they are in the file, or a `MANX_ENGINE_*` variable.
 */
import { type Command, Option } from "commander";
import type { GivenValue } from "../config/index.ts";
import { ManxError } from "../core/index.ts";

interface EngineFlag {
  readonly flag: string;
  readonly text: string;
  /** Within the section. */
  readonly path: readonly string[];
  readonly read: (text: string, name: string) => unknown;
}

/** Spelt in any way; the schema says what the number may be. */
function number(text: string, name: string): number {
  const value = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw refused(name, "a number", text);
}

function factor(text: string, name: string): number {
  const value = /^(\d+\.?\d*|\.\d+)x?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw refused(name, 'a factor such as "2x"', text);
}

function pools(text: string, name: string): unknown {
  const match = /^(\d+)\s*\+\s*(\d+)$/.exec(text.trim());
  if (match !== null) return { prefill: Number(match[1]), decode: Number(match[2]) };
  throw refused(name, 'engines that prefill and engines that decode, such as "1+2"', text);
}

const asIs = (text: string): string => text;
const on = (): boolean => true;
const fittedFile = (file: string): unknown => ({ kind: "fitted", file });

const GROUPS: Readonly<Record<string, readonly EngineFlag[]>> = {
  "Engine:": [
    flag("--model <name>", "model", asIs, "whose step times and KV sizes are used (llama-3.1-8b)"),
    flag("--gpu <name>", "gpu", asIs, "that the steps are priced for (h100-sxm)"),
    flag("--ranks <count>", "ranks", number, "GPUs that share each layer (1)"),
    flag("--context <tokens>", "context", number, "longest prompt plus output (16384)"),
    flag("--cost <file>", "cost", fittedFile, "prices from manx engine fit; default: data sheets"),
  ],
  "Scheduling:": [
    flag("--scheduling <name>", "scheduling", asIs, "chunked, continuous or static (chunked)"),
    flag("--sequences <count>", "sequences", number, "most requests in the batch (256)"),
    flag("--tokens <count>", "tokens", number, "most tokens computed in a step (2048)"),
    flag(
      "--order <name>",
      "order",
      asIs,
      "first-come, priority, shortest-uncached or fair-share (first-come)",
    ),
    flag("--ageing <duration>", "ageing", asIs, "priority: a wait worth one class (10s)"),
    flag("--priority-preempts", "priorityPreempts", on, "a better class throws out who runs"),
    flag("--mixing <name>", "mixing", asIs, "decode-first or prefill-first (decode-first)"),
    flag("--long-prefills <count>", "longPrefills", number, "most long prompts at a time (any)"),
  ],
  "KV memory:": [
    flag("--memory <name>", "memory", asIs, "paged, prefix, radix or contiguous (paged)"),
    flag("--block <tokens>", "block", number, "tokens of a block (16)"),
    flag("--preemption <name>", "preemption", asIs, "recompute or swap (recompute)"),
  ],
  "Speculation:": [
    flag("--drafts <count>", "speculation.drafts", number, "tokens drafted a step; needs the next"),
    flag("--acceptance <share>", "speculation.acceptance", number, "of drafts, 0 to 1"),
  ],
  "Fleet:": [
    flag("--replicas <count>", "replicas", number, "engines behind one router (1)"),
    flag(
      "--routing <name>",
      "routing",
      asIs,
      "round-robin, least-load, prefix or balanced (round-robin)",
    ),
    flag("--pools <p+d>", "pools", pools, "prefill and decode apart, such as 1+2"),
  ],
  "Server:": [
    flag("--host <address>", "listen.host", asIs, "to listen on (127.0.0.1)"),
    flag("--port <number>", "listen.port", number, "to listen on; 0 takes any free one (8000)"),
    flag("--served-model <name>", "servedModel", asIs, "that requests ask for (the model's own)"),
    flag("--speed <factor>", "speed", factor, "this many times as fast as the GPU would be (1)"),
    flag("--seed <number>", "seed", number, "of words, ids, faults, and lengths not set (42)"),
    flag("--queue <count>", "queue", number, "most waiting requests; more get 429 (1024)"),
    flag("--drain <duration>", "drain", asIs, "how long open requests may go on at the end (10s)"),
  ],
};

/** For the documentation: the flag of a key, such as `listen.port`. */
export function flagOfKey(key: string): string | undefined {
  if (key === "faults") return "--fault";
  const found = Object.values(GROUPS)
    .flat()
    .find(({ path }) => path.join(".") === key);
  return found?.flag.split(" ")[0];
}

export type EngineFlags = Readonly<Record<string, string | true | readonly string[] | undefined>>;

export function addEngineFlags(command: Command): Command {
  for (const [heading, flags] of Object.entries(GROUPS)) {
    command.optionsGroup(heading);
    for (const { flag: spelling, text } of flags) command.option(spelling, text);
  }
  return command.option(
    "--fault <fault>",
    'of a share of all traffic, such as "stall; share=0.05; after=5; for=2s"; may be repeated',
    (text: string, before: readonly string[] = []) => [...before, text],
  );
}

/**
 * What the command line has said.
 *
 * @param faultFields reads the form of `--fault`; passed in, so that `--help` need not load it.
 * @throws MANX_FLAG_VALUE, MANX_REQUEST_INVALID
 */
export function givenFlags(
  flags: EngineFlags,
  faultFields: (text: string, where: string) => unknown,
): GivenValue[] {
  const given: GivenValue[] = [];
  for (const { flag: spelling, path, read } of Object.values(GROUPS).flat()) {
    const option = new Option(spelling);
    const said = flags[option.attributeName()];
    if (said === undefined) continue;
    const name = option.long ?? spelling;
    given.push({ path, name, value: read(String(said), name) });
  }
  const faults = flags.fault;
  if (Array.isArray(faults)) {
    const value = faults.map((text: string) => faultFields(text, "--fault"));
    given.push({ path: ["faults"], name: "--fault", value });
  }
  return given;
}

function flag(spelling: string, path: string, read: EngineFlag["read"], text: string): EngineFlag {
  return { flag: spelling, path: path.split("."), read, text };
}

function refused(where: string, expected: string, got: string): ManxError {
  return new ManxError("MANX_FLAG_VALUE", { where, expected, got: JSON.stringify(got) });
}
