/**
 * What works but will not do what it seems to: retries that the deadline leaves no time for, hedges that have nowhere to
 * go, parts that nobody uses, secrets in clear. Values, not prints: whoever reads the configuration shows them.
 */
import type { ConfigPath } from "../../config/index.ts";
import { formatUs, US_PER_S } from "../../core/index.ts";
import type { GatewayConfig, ModelConfig, PolicyConfig, UpstreamConfig } from "./gateway-config.ts";
import { secretsOf } from "./gateway-secrets.ts";
import { DEFAULT_POLICY } from "./resolve-gateway.ts";
import type { WrittenReader } from "./written-reader.ts";

/** After how long a server is known to close an idle connection. */
const IDLE_LIMITS: readonly {
  readonly knows: (upstream: UpstreamConfig, host: string) => boolean;
  readonly us: number;
  readonly why: string;
}[] = [
  {
    knows: ({ kind }) => kind === "vllm" || kind === "sglang",
    us: 5 * US_PER_S,
    why: "uvicorn closes after 5 s unless told otherwise (vLLM: VLLM_HTTP_TIMEOUT_KEEP_ALIVE)",
  },
  {
    // developers.cloudflare.com/fundamentals/reference/connection-limits
    knows: (_, host) => host === "api.openai.com" || host === "api.anthropic.com",
    us: 400 * US_PER_S,
    why: "Cloudflare, in front of it, closes after 400 s",
  },
];

/** Services that choose among providers, and try again at another one, by themselves. */
const RETRYING_HOSTS: ReadonlySet<string> = new Set(["openrouter.ai", "ai-gateway.vercel.sh"]);

/** Adds a notice to the reader's for each. */
export function lintGateway(reader: WrittenReader, config: GatewayConfig): void {
  lintUse(reader, config);
  for (const [name, policy] of Object.entries(config.policies)) {
    const models = config.models.filter((model) => model.policy === name);
    if (models.length === 0) continue;
    lintRetries(reader, name, policy);
    for (const model of models) lintTargets(reader, config, model, name, policy);
    lintLayers(reader, config, models, name);
  }
  for (const [index, upstream] of config.upstreams.entries()) lintIdle(reader, index, upstream);
  lintSecrets(reader, config);
}

function lintUse(reader: WrittenReader, config: GatewayConfig): void {
  const used = new Set(config.models.flatMap((model) => model.targets.map((one) => one.upstream)));
  for (const [index, { name }] of config.upstreams.entries()) {
    if (used.has(name)) continue;
    reader.notice("warning", ["upstreams", index, "name"], {
      what: `the upstream ${name} is used by no model`,
      hint: "name it in a model's targets, or take it out",
    });
  }
  for (const name of Object.keys(config.policies)) {
    if (name === DEFAULT_POLICY || config.models.some((model) => model.policy === name)) continue;
    reader.notice("warning", ["policies", name], {
      what: `the policy ${name} is used by no model`,
      hint: 'name it in a model\'s "policy", or take it out',
    });
  }
}

/** An attempt that may take the whole deadline leaves none for the next: then there are no retries on silence. */
function lintRetries(reader: WrittenReader, name: string, policy: PolicyConfig): void {
  const { deadlineUs, timeouts, retry } = policy;
  const firstUs = timeouts.firstContentUs === 0 ? deadlineUs : timeouts.firstContentUs;
  const eachUs = Math.min(firstUs, deadlineUs);
  if (retry.attemptsMax === 1 || eachUs * retry.attemptsMax <= deadlineUs) return;
  const most = Math.max(1, Math.floor(deadlineUs / eachUs));
  reader.notice("warning", ["policies", name, "retry", "attempts"], {
    what: "the deadline leaves no time for all attempts",
    expected: `attempts x firstContent within the deadline, ${formatUs(deadlineUs)}`,
    got: `${retry.attemptsMax} x ${formatUs(eachUs)}: a silent upstream gets ${most}`,
    hint: "lower timeouts.firstContent to deadline / attempts, or ask for fewer attempts",
  });
}

function lintTargets(
  reader: WrittenReader,
  config: GatewayConfig,
  model: ModelConfig,
  name: string,
  policy: PolicyConfig,
): void {
  const at: ConfigPath = ["policies", name];
  const upstreams = model.targets
    .map((target) => config.upstreams.find((one) => one.name === target.upstream))
    .filter((one) => one !== undefined);
  const [only, second] = upstreams;
  if (policy.hedge !== null && second === undefined && only?.urls.length === 1) {
    reader.notice("note", [...at, "hedge"], {
      what: `hedges of ${model.name} go to the upstream that is slow`,
      expected: "a second target or a second URL",
      got: only.name,
      hint: policy.hedge.sameTarget
        ? "that helps if many servers stand behind it; else add a target"
        : "with sameTarget off there is nowhere to go, and no hedge; add a target",
    });
  }
  if (policy.stall.continueByPrefill && !upstreams.some((one) => one.canPrefill)) {
    reader.notice("warning", [...at, "stall", "continueByPrefill"], {
      what: `no target of ${model.name} can go on with a stalled answer`,
      expected: 'a target whose upstream has "canPrefill": true',
      hint: "set it where it is true, or turn continueByPrefill off",
    });
  }
}

/** Retries of two layers multiply (casebook GW-16). */
function lintLayers(
  reader: WrittenReader,
  config: GatewayConfig,
  models: readonly ModelConfig[],
  name: string,
): void {
  const { attemptsMax } = config.policies[name]!.retry;
  const used = new Set(models.flatMap(({ targets }) => targets.map(({ upstream }) => upstream)));
  const retrying = config.upstreams.find(({ name: upstream, urls }) => {
    const hosts = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url).hostname);
    return used.has(upstream) && hosts.some((host) => RETRYING_HOSTS.has(host));
  });
  if (attemptsMax === 1 || retrying === undefined) return;
  reader.notice("note", ["policies", name, "retry", "attempts"], {
    what: `the upstream ${retrying.name} makes retries of its own, and theirs and these multiply`,
    expected: "retries at one layer",
    got: `${attemptsMax} x as many attempts as it makes`,
    hint: "set attempts to 1 in a policy for its models, or switch its own fallbacks off",
  });
}

function lintIdle(reader: WrittenReader, index: number, upstream: UpstreamConfig): void {
  const path: ConfigPath = ["upstreams", index, "idle"];
  // A default is no mistake of anybody's: what the server closes, the pool forgets.
  if (!reader.isGiven(path)) return;
  const hosts = upstream.urls
    .filter((url) => URL.canParse(url))
    .map((url) => new URL(url).hostname);
  const limit = IDLE_LIMITS.find((one) => hosts.some((host) => one.knows(upstream, host)));
  if (limit === undefined || (upstream.idleUs < limit.us && upstream.idleUs > 0)) return;
  reader.notice("note", path, {
    what: "the upstream closes idle connections sooner than this",
    expected: `less than ${formatUs(limit.us)}`,
    hint: limit.why,
  });
}

/** Of those that stand in a file; a variable's value stands in no file that is passed on by mistake. */
function lintSecrets(reader: WrittenReader, config: GatewayConfig): void {
  for (const { path, secret } of secretsOf(config)) {
    if (secret.reference !== "inline" || reader.section.sourceOf(path).kind !== "file") continue;
    reader.notice("warning", path, {
      what: `the secret of ${reader.section.nameOf(path)} stands in the file in clear`,
      expected: "env:NAME or file:PATH",
      hint: "files are copied, shown and committed; name where the secret is instead",
    });
  }
}
