/** What no schema can see: names that must exist, addresses that must differ, limits that contradict each other. */
import type { ConfigPath } from "../../config/index.ts";
import { formatUs, nearestName, toManxError } from "../../core/index.ts";
import { Admission } from "../../policy/index.ts";
import { parseUpstream } from "../upstream-url.ts";
import type { GatewayConfig, PolicyConfig } from "./gateway-config.ts";
import { isAnyAddress, isLoopback, leadsTo } from "./host-names.ts";
import type { WrittenReader } from "./written-reader.ts";

/** Adds an error to the reader's for each contradiction. */
export function checkGateway(reader: WrittenReader, config: GatewayConfig): void {
  checkUpstreams(reader, config);
  checkModels(reader, config);
  for (const [name, policy] of Object.entries(config.policies)) checkPolicy(reader, name, policy);
  checkAdmission(reader, config);
  checkDoors(reader, config);
  checkGuardrails(reader, config);
  checkAddresses(reader, config);
}

function checkUpstreams(reader: WrittenReader, config: GatewayConfig): void {
  const { written } = reader;
  refuseDoubles(reader, ["upstreams"], written.upstreams, (one) => one.name, "name");
  for (const [index, one] of written.upstreams.entries()) {
    const at: ConfigPath = ["upstreams", index];
    if ((one.url === undefined) === (one.urls === undefined)) {
      const got = one.url === undefined ? "neither" : "both";
      reader.fail(at, { what: `${one.name} needs an address`, expected: "url or urls", got });
      continue;
    }
    if (one.preconnect > one.connections && reader.isGiven([...at, "preconnect"])) {
      reader.fail([...at, "preconnect"], { expected: `at most connections, ${one.connections}` });
    }
    const paths: [string, ConfigPath][] =
      one.urls === undefined
        ? [[one.url!, [...at, "url"]]]
        : one.urls.map((url, i) => [url, [...at, "urls", i]]);
    for (const [url, path] of paths) checkUrl(reader, config, url, path, one);
  }
}

function checkUrl(
  reader: WrittenReader,
  config: GatewayConfig,
  text: string,
  path: ConfigPath,
  one: { readonly key: string | null; readonly allowPlainHttp: boolean },
): void {
  let origin: URL;
  try {
    ({ origin } = parseUpstream(text));
  } catch (thrown) {
    const { expected, got } = toManxError(thrown);
    reader.fail(path, {
      expected: expected ?? "a URL",
      ...(got !== undefined && { got }),
      hint: "write scheme, host and port, such as http://127.0.0.1:8000",
    });
    return;
  }
  if (leadsTo(origin, config.listen) || (config.admin !== null && leadsTo(origin, config.admin))) {
    reader.fail(path, {
      what: "an upstream is this gateway itself",
      expected: "another address than the one it listens on",
      hint: "requests would go round in a circle; check host and port",
    });
  }
  const isPlain = origin.protocol === "http:" && !isLoopback(origin.hostname);
  if (isPlain && one.key !== null && !one.allowPlainHttp) {
    reader.fail(path, {
      what: "a key would cross the network in clear",
      expected: "https:// for an upstream with a key on another machine",
      hint: 'use https, or set "allowPlainHttp": true if that network is yours alone',
    });
  }
}

function checkModels(reader: WrittenReader, config: GatewayConfig): void {
  const { written } = reader;
  const upstreams = written.upstreams.map((one) => one.name);
  const policies = Object.keys(config.policies);
  if (written.models.length === 0 && upstreams.length > 1) {
    reader.fail(["models"], {
      what: "gateway.models is missing",
      expected: "models with targets, as there is more than one upstream",
      got: `${upstreams.length} upstreams`,
      hint: `such as {"name": "*", "targets": ["${upstreams[0]}"]}`,
    });
  }
  refuseDoubles(reader, ["models"], written.models, (one) => one.name, "name");
  for (const [index, model] of written.models.entries()) {
    needName(reader, ["models", index, "policy"], model.policy, policies, "policies");
    for (const [i, target] of model.targets.entries()) {
      const at: ConfigPath = ["models", index, "targets", i];
      const [name, path] =
        typeof target === "string" ? [target, at] : [target.upstream, [...at, "upstream"]];
      needName(reader, path, name, upstreams, "upstreams");
    }
  }
}

function checkPolicy(reader: WrittenReader, name: string, policy: PolicyConfig): void {
  const { deadlineUs, timeouts, retry } = policy;
  const at: ConfigPath = ["policies", name];
  if (retry.backoffCapUs < retry.backoffBaseUs) {
    reader.fail([...at, "retry", "backoffMax"], {
      expected: `at least backoff, ${formatUs(retry.backoffBaseUs)}`,
    });
  }
  if (deadlineUs === 0) return;
  for (const [key, us] of Object.entries(timeouts)) {
    const path = [...at, "timeouts", key.replace(/Us$/, "")];
    // A default is cut off by the deadline without a word; what somebody wrote was meant.
    if (us <= deadlineUs || !reader.isGiven(path)) continue;
    reader.fail(path, {
      what: `${reader.section.nameOf(path)} can never happen`,
      expected: `at most the deadline, ${formatUs(deadlineUs)}`,
      hint: "lower it, or raise the deadline",
    });
  }
}

/** The machine itself says what is impossible together. */
function checkAdmission(reader: WrittenReader, { admission }: GatewayConfig): void {
  if (admission === null) return;
  try {
    new Admission(admission);
  } catch (thrown) {
    const { what: fault, where = "", expected, hint } = toManxError(thrown);
    // `admission.lanes.short.tokensMax`: the group, and the name in a map, are what the file has too.
    const [, group, name] = where.split(".");
    const path = [group, group === "tenants" ? name : undefined].filter((one) => one !== undefined);
    const what = `${fault}: ${where}`;
    reader.fail(["admission", ...path], {
      what,
      ...(expected !== undefined && { expected }),
      hint,
    });
  }
}

/** Who may come in, and what they could do with it. */
function checkDoors(reader: WrittenReader, config: GatewayConfig): void {
  const { listen, admin, keys } = config;
  const isShared = admin !== null && listen.port !== 0 && admin.port === listen.port;
  if (
    isShared &&
    (admin.host === listen.host || isAnyAddress(admin.host) || isAnyAddress(listen.host))
  ) {
    reader.fail(["admin", "port"], { expected: "another port than listen.port" });
  }
  const hasKeys = config.upstreams.some((one) => one.key !== null);
  if (!isLoopback(listen.host) && hasKeys && keys.source === "none" && !reader.isGiven(["keys"])) {
    reader.fail(["listen", "host"], {
      what: "whoever reaches this address could spend the upstreams' keys",
      expected: "127.0.0.1, or keys that callers need",
      hint: 'set keys, or write "keys": {"source": "none"} if the network admits only those who may',
    });
  }
  if (keys.source !== "inline") return;
  refuseDoubles(reader, ["keys", "keys"], keys.keys, (one) => one.id, "id");
  for (const [index, { budget }] of keys.keys.entries()) {
    if (config.prices !== null || (budget.usdPerDay === null && budget.usdPerMonth === null))
      continue;
    reader.fail(["keys", "keys", index, "budget"], {
      what: "a budget in money needs prices",
      expected: "gateway.prices, or budgets in tokens",
    });
  }
}

function checkGuardrails(reader: WrittenReader, config: GatewayConfig): void {
  refuseDoubles(reader, ["guardrails"], config.guardrails, (one) => one.name, "name");
  const models = config.models.map((one) => one.name);
  for (const [index, one] of config.guardrails.entries()) {
    const at: ConfigPath = ["guardrails", index];
    checkRule(reader, config, index);
    if (one.kind === "model" && !models.includes("*")) {
      needName(reader, [...at, "model"], one.model, models, "models");
    }
    if (one.kind === "http") checkClassifier(reader, at, one.url, one.key !== null);
    if (one.kind !== "pattern") continue;
    for (const [i, pattern] of one.patterns.entries()) {
      try {
        new RegExp(pattern, "u");
      } catch (thrown) {
        const hint = thrown instanceof Error ? thrown.message : String(thrown);
        reader.fail([...at, "patterns", i], { expected: "a regular expression", hint });
      }
    }
  }
}

/** A doubt needs somebody who had it, and models are those of this file. */
function checkRule(reader: WrittenReader, config: GatewayConfig, index: number): void {
  const { stage, when, models } = config.guardrails[index]!;
  const isFirst = !config.guardrails.slice(0, index).some((other) => other.stage === stage);
  if (when === "unsure" && isFirst) {
    reader.fail(["guardrails", index, "when"], {
      what: "nobody before this guardrail can be unsure",
      expected: `a guardrail of stage ${stage} above it, or "always"`,
    });
  }
  const names = config.models.map((one) => one.name);
  for (const [i, name] of models?.entries() ?? []) {
    needName(reader, ["guardrails", index, "models", i], name, names, "models");
  }
}

function checkClassifier(
  reader: WrittenReader,
  at: ConfigPath,
  text: string,
  hasKey: boolean,
): void {
  checkPlainUrl(reader, [...at, "url"], text);
  if (!hasKey || !URL.canParse(text)) return;
  const url = new URL(text);
  if (url.protocol !== "http:" || isLoopback(url.hostname)) return;
  reader.fail([...at, "url"], {
    what: "a key would cross the network in clear",
    expected: "https:// for a classifier with a key on another machine",
  });
}

function checkAddresses(reader: WrittenReader, { otlp }: GatewayConfig): void {
  if (otlp !== null) checkPlainUrl(reader, ["otlp", "url"], otlp.url);
  const { state } = reader.written;
  const isNamed = state === null || /^(env|file):/.test(state);
  if (!isNamed && !/^rediss?:\/\/[^/\s]+/.test(state)) {
    reader.fail(["state"], { expected: "redis://host:port, or env:NAME of such a text" });
  }
}

function checkPlainUrl(reader: WrittenReader, path: ConfigPath, text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return;
  reader.fail(path, { expected: "an http or https URL" });
}

function needName(
  reader: WrittenReader,
  path: ConfigPath,
  name: string,
  names: readonly string[],
  kind: string,
): void {
  if (names.includes(name)) return;
  const near = nearestName(name, names);
  reader.fail(path, {
    what: `${reader.section.nameOf(path)} names none of ${kind}`,
    expected: `one of ${names.slice(0, 20).join(", ")}`,
    got: JSON.stringify(name),
    ...(near !== undefined && { hint: `did you mean "${near}"?` }),
  });
}

function refuseDoubles<One>(
  reader: WrittenReader,
  path: ConfigPath,
  list: readonly One[],
  nameOf: (one: One) => string,
  key: string,
): void {
  const first = new Map<string, number>();
  for (const [index, one] of list.entries()) {
    const name = nameOf(one);
    const before = first.get(name);
    if (before === undefined) {
      first.set(name, index);
      continue;
    }
    const other = reader.section.nameOf([...path, before]);
    reader.fail([...path, index, key], {
      expected: "a name of its own",
      hint: `${other} has it too`,
    });
  }
}
