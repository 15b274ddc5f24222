/** LiteLLM's config.yaml: model_list, router_settings, litellm_settings, general_settings. */
import { Imported, type ImportedTarget, keyReference } from "./imported.ts";
import { findProvider } from "./providers.ts";
import type { ReadMarks } from "./read-marks.ts";

type Path = readonly (string | number)[];

/** Settings that Manx has no need of, as it does the same always or has it elsewhere without being asked. */
const UNNEEDED: Readonly<Record<string, string>> = {
  set_verbose: "manx gateway --verbose",
  json_logs: "logs are JSON",
  drop_params: "translation drops what the target cannot take and lists it",
  callbacks: "metrics are at /metrics and traces go to otlp; other sinks have no equal",
  success_callback: "metrics are at /metrics and traces go to otlp; other sinks have no equal",
  failure_callback: "metrics are at /metrics and traces go to otlp; other sinks have no equal",
};

export function fromLitellm(marks: ReadMarks): Imported {
  const imported = new Imported();
  for (let i = 0; i < marks.length(["model_list"]); i += 1) readDeployment(marks, imported, i);
  readAliases(marks, imported);
  readFallbacks(marks, imported);
  readPolicy(marks, imported);
  readGeneral(marks, imported);
  for (const section of ["litellm_settings", "router_settings", "general_settings"]) {
    for (const [name, words] of Object.entries(UNNEEDED)) {
      if (marks.take([section, name]) !== undefined) imported.note(`${section}.${name}`, words);
    }
  }
  return imported;
}

function readDeployment(marks: ReadMarks, imported: Imported, index: number): void {
  const at: Path = ["model_list", index];
  const params = [...at, "litellm_params"];
  const where = `model_list.${index}`;
  const name = marks.text([...at, "model_name"]);
  const full = marks.text([...params, "model"]);
  if (name === undefined || full === undefined) {
    imported.note(where, "it has no model_name or no litellm_params.model; left out");
    return;
  }
  const named = marks.text([...params, "custom_llm_provider"]);
  const slash = full.indexOf("/");
  const prefix = slash < 0 ? undefined : findProvider(full.slice(0, slash));
  const found = (named === undefined ? prefix : findProvider(named)) ?? bareModel(full, slash);
  if (found === undefined) {
    const provider = named ?? full.slice(0, slash);
    imported.note(where, `${provider} speaks neither OpenAI's nor Anthropic's format; left out`);
    marks.take(at);
    return;
  }
  const base = marks.text([...params, "api_base"]) ?? marks.text([...params, "base_url"]);
  const url = found.name === "azure" ? azureUrl(base, imported, where) : base;
  if (url === undefined && found.provider.url === undefined) {
    imported.note(where, "it has no api_base; left out");
    marks.take(at);
    return;
  }
  const given = marks.text([...params, "api_key"]);
  const { key, isInClear } = keyReference(given, found.provider.variable);
  if (isInClear) {
    imported.note(
      `${where}.litellm_params.api_key`,
      `stood in clear and is not copied; set ${key.slice(4)}`,
    );
  }
  // Without a key in the file LiteLLM takes it from the customary variable; a server of one's own often has none.
  const hasKey = given !== undefined || found.provider.kind === "provider";
  const connections = marks.number([...params, "max_parallel_requests"]);
  const upstream = imported.upstream({
    name: found.name,
    provider: found.provider,
    url,
    key: hasKey ? key : undefined,
    ...(connections !== undefined && { connections }),
  });
  if (found.name === "azure") marks.take([...params, "api_version"]);
  const model = prefix === undefined ? full : full.slice(slash + 1);
  const weight = marks.number([...params, "weight"]);
  const order = marks.number([...params, "order"]);
  imported.target(name, {
    upstream,
    ...(model !== name && !model.includes("*") && { model }),
    ...(weight !== undefined && weight > 0 && { weight }),
    ...(order !== undefined && { order }),
  });
}

/** A model without a provider is one that LiteLLM knows by name. */
function bareModel(full: string, slash: number): ReturnType<typeof findProvider> {
  if (slash >= 0) return undefined;
  return findProvider(/^claude/i.test(full) ? "anthropic" : "openai");
}

/** Azure's own v1 API takes the same paths as OpenAI's and the deployment as the model. */
function azureUrl(base: string | undefined, imported: Imported, where: string): string | undefined {
  if (base === undefined || !URL.canParse(base)) return undefined;
  imported.note(
    where,
    "Azure is called by its v1 API, which has no api_version; check that the resource has it",
  );
  return `${new URL(base).origin}/openai`;
}

/** `alias: group`, or `alias: {model: group}`. */
function readAliases(marks: ReadMarks, imported: Imported): void {
  const at: Path = ["router_settings", "model_group_alias"];
  for (const [alias, value] of entriesOf(marks.take(at))) {
    const group = typeof value === "string" ? value : (value as { model?: unknown } | null)?.model;
    const targets = typeof group === "string" ? imported.models.get(group) : undefined;
    if (targets === undefined)
      imported.note(`${at.join(".")}.${alias}`, "it names no model; left out");
    else
      for (const target of targets) {
        imported.target(
          alias,
          target.model === undefined ? { ...target, model: String(group) } : target,
        );
      }
  }
}

function readFallbacks(marks: ReadMarks, imported: Imported): void {
  for (const section of ["router_settings", "litellm_settings"]) {
    for (const name of [
      "context_window_fallbacks",
      "content_policy_fallbacks",
      "default_fallbacks",
    ]) {
      if (marks.take([section, name]) === undefined) continue;
      imported.note(
        `${section}.${name}`,
        "a target is chosen before the answer, not by its error; left out",
      );
    }
    const list = marks.take([section, "fallbacks"]);
    // Taken before any is added, so that a fallback of a fallback is not chained without end.
    const before = new Map([...imported.models].map(([name, targets]) => [name, [...targets]]));
    for (const entry of Array.isArray(list) ? list : []) {
      for (const [model, others] of entriesOf(entry)) {
        addFallbacks(imported, before, model, others, `${section}.fallbacks`);
      }
    }
  }
}

function addFallbacks(
  imported: Imported,
  before: ReadonlyMap<string, readonly ImportedTarget[]>,
  model: string,
  others: unknown,
  where: string,
): void {
  const targets = imported.models.get(model);
  if (targets === undefined || !Array.isArray(others)) {
    imported.note(where, `${model}: no such model; left out`);
    return;
  }
  let order = Math.max(0, ...targets.map((one) => one.order ?? 0));
  for (const other of others) {
    const next = typeof other === "string" ? before.get(other) : undefined;
    if (next === undefined) {
      imported.note(
        where,
        `${model}: ${typeof other === "string" ? other : "an entry"} is no model; left out`,
      );
      continue;
    }
    order += 1;
    for (const target of next) imported.target(model, { model: String(other), ...target, order });
  }
}

function readPolicy(marks: ReadMarks, imported: Imported): void {
  const either = (name: string): number | undefined => {
    const [router, library] = [
      marks.number(["router_settings", name]),
      marks.number(["litellm_settings", name]),
    ];
    return router ?? library;
  };
  const retries = either("num_retries");
  const timeout = either("timeout") ?? either("request_timeout");
  const streamTimeout = either("stream_timeout");
  const cooldown = either("cooldown_time");
  if (either("allowed_fails") !== undefined) {
    imported.note(
      "allowed_fails",
      "the breaker counts shares of calls, not calls: policies.default.breaker",
    );
  }
  const timeouts = {
    ...(timeout !== undefined && { headers: secondsText(timeout) }),
    ...(streamTimeout !== undefined && {
      firstContent: secondsText(streamTimeout),
      progressGap: secondsText(streamTimeout),
    }),
  };
  if (timeout !== undefined) {
    imported.note(
      "timeout",
      "is the wait for the head here; policies.default.deadline bounds a call as a whole",
    );
  }
  const policy = {
    ...(Object.keys(timeouts).length > 0 && { timeouts }),
    ...(retries !== undefined && { retry: { attempts: Math.min(10, Math.max(1, retries + 1)) } }),
    ...(cooldown !== undefined && cooldown > 0 && { breaker: { open: secondsText(cooldown) } }),
  };
  if (Object.keys(policy).length > 0) imported.others.policies = { default: policy };
  const strategy = marks.text(["router_settings", "routing_strategy"]);
  if (strategy !== undefined && strategy !== "simple-shuffle") {
    imported.note(
      "router_settings.routing_strategy",
      `${strategy}: targets are chosen by order, weight and health`,
    );
  }
}

function readGeneral(marks: ReadMarks, imported: Imported): void {
  if (marks.take(["general_settings", "master_key"]) !== undefined) {
    imported.others.keys = { source: "file", path: "manx.keys.json" };
    imported.note(
      "general_settings.master_key",
      "callers need keys of their own: manx gateway key create",
    );
  }
  const hasRedis = ["redis_host", "redis_url", "redis_port", "redis_password"]
    .map((name) => marks.take(["router_settings", name]))
    .some((value) => value !== undefined);
  if (!hasRedis) return;
  imported.others.state = "env:REDIS_URL";
  imported.note("router_settings.redis_host", "set REDIS_URL to redis://:password@host:port");
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function secondsText(seconds: number): string {
  return `${Math.round(seconds * 1_000)}ms`;
}
