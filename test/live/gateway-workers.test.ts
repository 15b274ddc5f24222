/** `manx gateway --workers 2` as real processes: who crashes takes only its own requests along, and nothing is forgotten. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { secretBytes } from "../../src/clock/index.ts";
import { newKey } from "../../src/gateway/keys/index.ts";
import {
  type GatewayProcess,
  gatewayProcess,
  isAlive,
  waitFor,
} from "../support/gateway-process.ts";
import { answer, call } from "../support/http-call.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  json,
  LAST_CHUNK,
  type ReplayServer,
  type Step,
  startReplayServer,
} from "../support/replay-server.ts";

// Processes that compile themselves on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

interface Member {
  readonly worker: number;
  readonly pid: number;
  readonly state: string;
}

const GET = { method: "GET" };
const BODY = '{"model":"m","max_tokens":10,"messages":[]}';
const TOKENS_PER_CALL = 42;
const BUDGET = 20 * TOKENS_PER_CALL;
const ADMIN_KEY = "operators-only";

const folder = mkdtempSync(join(tmpdir(), "manx-workers-"));
const file = join(folder, "manx.config.jsonc");
const keysFile = join(folder, "keys.json");
const { key, id, hash } = newKey(secretBytes);
const headers = { authorization: `Bearer ${key}` };
const closers: (() => Promise<void>)[] = [];
let upstream: ReplayServer;
let gateway: GatewayProcess;

/** Streams go on until a test lets them end. */
function script({ body }: Hit): readonly Step[] {
  if (!body.includes('"stream":true')) {
    const usage = { prompt_tokens: 30, completion_tokens: 12 };
    return [{ bytes: json(200, { choices: [], usage }) }];
  }
  return [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(chatText("one ")) }];
}

function write(model: string): void {
  const section = {
    listen: { port: 0, workers: 2 },
    upstreams: [{ name: "up", url: upstream.url, format: "any" }],
    models: [{ name: model, targets: ["up"] }],
    keys: { source: "file", path: keysFile },
    limits: { drain: "20s" },
    admin: { port: 0, key: ADMIN_KEY },
  };
  writeFileSync(file, JSON.stringify({ gateway: section }));
}

async function members(): Promise<Member[]> {
  const { text } = await answer(`${gateway.url}/health`, GET);
  return (JSON.parse(text) as { workers: Member[] }).workers;
}

async function metrics(): Promise<string> {
  return (await answer(`${gateway.url}/metrics`, GET)).text;
}

/** Over a connection of its own, so that the workers take turns. */
function ask(model = "m") {
  return answer(`${gateway.url}/v1/chat/completions`, {
    body: BODY.replace('"m"', `"${model}"`),
    headers,
  });
}

async function serving(count: number): Promise<Member[]> {
  let now: Member[] = [];
  await waitFor(
    async () => {
      now = await members();
      return now.length === count && now.every(({ state }) => state === "serving");
    },
    () => JSON.stringify(now),
  );
  return now;
}

/** Streams that have begun, spread over the workers. */
async function streams(count: number) {
  const body = BODY.replace("{", '{"stream":true,');
  const made = Array.from({ length: count }, () =>
    call(`${gateway.url}/v1/chat/completions`, { body, headers }),
  );
  await waitFor(() => made.every((one) => one.text().includes("one")));
  return made;
}

/** All that are open end as they should. */
function endStreams(): void {
  upstream.sayAll(chunk(chatText("two", "stop") + CHAT_DONE).toString());
  upstream.sayAll(LAST_CHUNK);
}

async function spent(): Promise<number> {
  const text = await readFile(`${keysFile}.spent.json`, "utf8").catch(() => '{"accounts":{}}');
  return JSON.parse(text).accounts[id]?.day.tokens ?? 0;
}

beforeAll(async () => {
  upstream = await startReplayServer(script);
  closers.push(() => upstream.close());
  const budget = { tokensPerDay: BUDGET };
  writeFileSync(
    keysFile,
    JSON.stringify({ version: 1, keys: [{ id, hash, tenant: "t", budget }] }),
  );
  write("m");
  gateway = await gatewayProcess(["--config", file], (close) => closers.unshift(close));
}, 90_000);

afterAll(async () => {
  for (const close of closers) await close();
  rmSync(folder, { recursive: true });
}, 60_000);

describe("two workers", () => {
  it("serve one port in turn, and are one gateway to whoever looks", async () => {
    await serving(2);
    const before = upstream.hits.length;
    for (let i = 0; i < 6; i += 1) expect((await ask()).status).toBe(200);
    expect(upstream.hits.length - before).toBe(6);
    // Each worker has connections of its own to the upstream.
    expect(
      new Set(upstream.hits.slice(before).map(({ connection }) => connection)).size,
    ).toBeGreaterThan(1);
    const page = await metrics();
    expect(page).toMatch(/manx_gateway_requests_total\{.*status="200".*\} 6$/m);
    expect(page).toContain('manx_gateway_workers{state="serving"} 2');
    expect(page).toContain("manx_gateway_workers_unanswered 0");
    expect(page.match(/^# TYPE manx_gateway_requests_total /gm)).toHaveLength(1);
  });

  it("have one budget, kept by the process that serves nobody", async () => {
    await waitFor(
      async () => (await spent()) === 6 * TOKENS_PER_CALL,
      () => "the file",
    );
    let taken = 6;
    // A worker learns of the other's spending within a quarter of a second.
    while ((await ask()).status === 200) {
      taken += 1;
      expect(taken).toBeLessThan(40);
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    expect(taken).toBeGreaterThanOrEqual(BUDGET / TOKENS_PER_CALL);
    // One more for what may have been on its way between the two.
    expect(taken).toBeLessThanOrEqual(BUDGET / TOKENS_PER_CALL + 1);
    for (let i = 0; i < 4; i += 1) expect((await ask()).text).toContain("MANX_BUDGET_SPENT");
    // For what follows there is none.
    writeFileSync(keysFile, JSON.stringify({ version: 1, keys: [{ id, hash, tenant: "t" }] }));
    gateway.kill("SIGHUP");
    await gateway.says("read again");
  });

  it("all run by the new configuration after SIGHUP, and all as before if it is wrong", async () => {
    write("other");
    gateway.kill("SIGHUP");
    await gateway.says("changed models.m, models.other");
    for (let i = 0; i < 4; i += 1) expect((await ask("other")).status).toBe(200);
    writeFileSync(file, '{"gateway": {"upstreems": []}}');
    gateway.kill("SIGHUP");
    await gateway.says("runs on as before");
    // One that begins now goes by what was right, too.
    const [first] = await members();
    process.kill(first!.pid, "SIGKILL");
    await gateway.says(`worker ${first!.worker}, process ${first!.pid}`);
    await serving(2);
    for (let i = 0; i < 4; i += 1) expect((await ask("other")).status).toBe(200);
    write("m");
    gateway.kill("SIGHUP");
    await waitFor(async () => (await ask()).status === 200);
  });

  it("have one port for operators, who see both and tell both, and those to come", async () => {
    await gateway.says("operators reach it at");
    const admin = /operators reach it at (\S+)\/admin/.exec(gateway.said())![1]!;
    const operator = { headers: { authorization: `Bearer ${ADMIN_KEY}` } };
    const state = async () => {
      const { text } = await answer(`${admin}/admin/state`, { ...GET, ...operator });
      return JSON.parse(text) as { workers: { worker: number; drained: unknown[] }[] };
    };
    expect((await state()).workers.map(({ worker }) => worker)).toHaveLength(2);
    await answer(`${admin}/admin/drain?upstream=up`, operator);
    for (let i = 0; i < 4; i += 1) expect((await ask()).text).toContain("MANX_NO_TARGET");
    const [first] = await members();
    process.kill(first!.pid, "SIGKILL");
    await gateway.says(`worker ${first!.worker}, process ${first!.pid}`);
    await serving(2);
    for (let i = 0; i < 4; i += 1) expect((await ask()).text).toContain("MANX_NO_TARGET");
    expect((await state()).workers.map(({ drained }) => drained.length)).toEqual([1, 1]);
    await answer(`${admin}/admin/resume?upstream=up`, operator);
    for (let i = 0; i < 4; i += 1) expect((await ask()).status).toBe(200);
    const reloaded = await answer(`${admin}/admin/reload`, operator);
    expect([reloaded.status, JSON.parse(reloaded.text)]).toEqual([200, { live: [], restart: [] }]);
  });

  it("one of which is killed: the streams of the other go on to their end, and it is started again", async () => {
    const before = await serving(2);
    const made = await streams(6);
    process.kill(before[0]!.pid, "SIGKILL");
    await gateway.says(`worker ${before[0]!.worker}, process ${before[0]!.pid}`);
    const broken = () => made.filter((one) => one.request.destroyed);
    await waitFor(() => broken().length > 0);
    expect((await ask()).status).toBe(200);
    endStreams();
    const ends = await Promise.all(made.map((one) => one.ended));
    const clean = ends.filter((one) => one.clean).length;
    expect([clean > 0, clean < 6]).toEqual([true, true]);
    for (const [i, one] of made.entries()) {
      expect(one.text().endsWith(CHAT_DONE)).toBe(ends[i]!.clean);
    }
    const after = await serving(2);
    expect(after.map(({ worker }) => worker)).not.toContain(before[0]!.worker);
    expect(await metrics()).toContain("manx_gateway_worker_restarts 3");
  });

  it("are renewed one by one on SIGUSR2: no request fails, and open streams end with the old ones", async () => {
    const before = await serving(2);
    const made = await streams(2);
    let isOver = false;
    const statuses = new Map<number, number>();
    const asking = (async () => {
      while (!isOver) {
        const { status } = await ask();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    })();
    gateway.kill("SIGUSR2");
    await gateway.says("renewed 2 of 2 workers");
    isOver = true;
    await asking;
    expect([...statuses.keys()]).toEqual([200]);
    endStreams();
    for (const one of made) expect((await one.ended).clean).toBe(true);
    const after = await serving(2);
    const old = new Set(before.map(({ pid }) => pid));
    expect(after.filter(({ pid }) => old.has(pid))).toEqual([]);
  });

  it("that are told to stop let open streams end, and end with code 0", async () => {
    const [one] = await streams(1);
    const pids = (await members()).map(({ pid }) => pid);
    gateway.kill("SIGTERM");
    // A service manager sends it to all of them, and some send it again.
    for (const pid of [...pids, ...pids]) process.kill(pid, "SIGTERM");
    await gateway.says("workers drain for up to 20s");
    await waitFor(() =>
      answer(`${gateway.url}/ready`, GET).then(
        () => false,
        () => true,
      ),
    );
    endStreams();
    expect((await one!.ended).clean).toBe(true);
    expect(await gateway.ended).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("whose supervisor is killed let open streams end, and leave; what was spent is still known", async () => {
    const known = await spent();
    expect(known).toBeGreaterThanOrEqual(BUDGET);
    gateway = await gatewayProcess(["--config", file], (close) => closers.unshift(close));
    const [one] = await streams(1);
    const pids = (await serving(2)).map(({ pid }) => pid);
    gateway.kill("SIGKILL");
    expect(await gateway.ended).toBe("SIGKILL");
    endStreams();
    expect((await one!.ended).clean).toBe(true);
    await waitFor(() => !pids.some(isAlive));
    const budget = { tokensPerDay: known };
    const keys = [{ id, hash, tenant: "t", budget }];
    writeFileSync(keysFile, JSON.stringify({ version: 1, keys }));
    gateway = await gatewayProcess(["--config", file], (close) => closers.unshift(close));
    for (let i = 0; i < 2; i += 1) expect((await ask()).text).toContain("MANX_BUDGET_SPENT");
    // Twice: whoever is in a hurry waits for nothing.
    gateway.kill("SIGTERM");
    await gateway.says("drain");
    await new Promise((resolve) => setTimeout(resolve, 300));
    gateway.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
  });
});
