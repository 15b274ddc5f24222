/**
 * The shipped dashboards and alerts against a real Prometheus: it scrapes a gateway under traffic of the official client,
 * and every query of every panel and every rule is asked there. Says so and ends well if Prometheus is not on the PATH.
 *
 *     npm run bench:prometheus [-- --seconds 40]
 *
 * Everything listens on loopback only and is stopped at the end; Prometheus keeps its files in a folder of its own, which
 * is removed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import OpenAI from "openai";
import { configFromUpstream } from "../../src/gateway/config/index.ts";
import { startConfigured } from "../../src/gateway/index.ts";
import { type ScriptedProvider, startScriptedProvider } from "../../src/testing/index.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "40" } } });
const seconds = Number(values.seconds);
const root = new URL("../../", import.meta.url).pathname;
const RULES = join(root, "deploy/alerts/manx.rules.yml");
const DASHBOARDS = ["manx-callers", "manx-machinery"];
/** What no traffic of this bench brings about: other parts of the gateway, or nothing went wrong. */
const MAY_BE_EMPTY = [
  /KV memory|Running and waiting/,
  /guardrails/,
  /Refused, by reason/,
  /dropped/i,
  /Hedges/,
];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Undefined if there is no such program. */
async function startPrometheus(
  folder: string,
  target: string,
  port: number,
): Promise<ChildProcess | undefined> {
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "5s" },
    rule_files: [RULES],
    scrape_configs: [{ job_name: "manx", static_configs: [{ targets: [target] }] }],
  };
  const file = join(folder, "prometheus.yml");
  writeFileSync(file, JSON.stringify(config));
  const child = spawn(
    "prometheus",
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--enable-feature=exemplar-storage",
    ],
    { stdio: "ignore" },
  );
  const isThere = await once(child, "spawn").then(
    () => true,
    () => false,
  );
  return isThere ? child : undefined;
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly result: readonly unknown[] };
}

async function ask(url: string, query: string): Promise<Answer> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
  return (await response.json()) as Answer;
}

interface Panel {
  readonly title?: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly panels?: readonly Panel[];
}

/** Queries as Grafana would send them. */
function queriesOf(name: string): [title: string, query: string][] {
  const text = readFileSync(join(root, `deploy/grafana/${name}.json`), "utf8");
  const all = (panels: readonly Panel[]): [string, string][] =>
    panels.flatMap(({ title = "", targets = [], panels: inner = [] }) => [
      ...targets.map(({ expr }): [string, string] => [title, expr]),
      ...all(inner),
    ]);
  const { panels } = JSON.parse(text) as { panels: readonly Panel[] };
  return all(panels).map(([title, expr]) => [
    title,
    expr
      .replaceAll("$__rate_interval", "30s")
      .replaceAll("$__range", "1m")
      .replaceAll("$model", ".*")
      .replaceAll("$upstream", ".*"),
  ]);
}

/** A stream at a time on four lines, and a failure now and then, so that there is something to see. */
async function traffic(url: string, untilMs: number): Promise<number> {
  const client = new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, maxRetries: 0 });
  let calls = 0;
  const line = async (): Promise<void> => {
    while (Date.now() < untilMs) {
      calls += 1;
      try {
        const stream = await client.chat.completions.create({
          model: calls % 25 === 0 ? "broken" : "any",
          stream: true,
          stream_options: { include_usage: true },
          messages: [{ role: "user", content: "Is it seen?" }],
        });
        for await (const _ of stream);
      } catch {
        // The dashboards are to show it.
      }
    }
  };
  await Promise.all(Array.from({ length: 4 }, line));
  return calls;
}

function scripted(): Promise<ScriptedProvider> {
  return startScriptedProvider(({ body }) =>
    body?.model === "broken"
      ? { status: 503 }
      : { text: "It can be seen on the board.", ttft: "80ms", gap: "15ms" },
  );
}

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly state?: string;
}

/** A group is evaluated once a minute at least. */
const RULES_MS = 90_000;

async function evaluatedRules(url: string): Promise<Rule[]> {
  const endMs = Date.now() + RULES_MS;
  for (;;) {
    const { data } = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
      data: { groups: { rules: Rule[] }[] };
    };
    const rules = data.groups.flatMap((group) => group.rules);
    const isKnown = rules.every(({ health }) => health !== "unknown");
    if (isKnown || Date.now() > endMs) return rules;
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
}

const problems: string[] = [];
let asked = 0;
let empty = 0;

async function check(url: string, title: string, query: string): Promise<void> {
  asked += 1;
  const { status, error, data } = await ask(url, query);
  if (status !== "success") problems.push(`${title}: ${error}\n    ${query}`);
  else if (data?.result.length === 0) {
    empty += 1;
    if (!MAY_BE_EMPTY.some((one) => one.test(title)))
      problems.push(`${title}: nothing\n    ${query}`);
  }
}

const folder = mkdtempSync(join(tmpdir(), "manx-prometheus-"));
const provider = await scripted();
const { config } = configFromUpstream(provider.url, [
  { path: ["admission"], value: {}, name: "--lanes" },
  { path: ["policies", "default", "hedge"], value: true, name: "--hedge" },
  { path: ["listen", "port"], value: 0, name: "--port" },
]);
const gateway = await startConfigured(config);
const port = await freePort();
const prometheus = await startPrometheus(folder, new URL(gateway.url).host, port);
try {
  if (prometheus === undefined) console.log("prometheus is not on the PATH: nothing was checked");
  else {
    const url = `http://127.0.0.1:${port}`;
    const calls = await traffic(gateway.url, Date.now() + seconds * 1_000);
    for (const name of DASHBOARDS) {
      for (const [title, query] of queriesOf(name)) await check(url, title, query);
    }
    const all = await evaluatedRules(url);
    for (const { name, health, lastError } of all) {
      if (health !== "ok") problems.push(`rule ${name}: ${health} ${lastError ?? ""}`);
    }
    const firing = all.filter(({ state }) => state === "firing" || state === "pending");
    console.log(
      `${calls} calls in ${seconds} s; ${asked} queries of ${DASHBOARDS.length} dashboards, ${empty} of them empty as they may be; ` +
        `${all.length} rules evaluated; pending or firing: ${firing.map(({ name }) => name).join(", ") || "none"}`,
    );
    for (const problem of problems) console.log(`FAIL ${problem}`);
    if (problems.length === 0) console.log("ok   every query is understood and shows something");
  }
} finally {
  prometheus?.kill("SIGTERM");
  await gateway.close();
  await provider.close();
  if (prometheus !== undefined && prometheus.exitCode === null) await once(prometheus, "exit");
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = problems.length === 0 ? 0 : 1;
