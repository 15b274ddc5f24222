import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { type ManxError, US_PER_MS, US_PER_S } from "../../core/index.ts";
import { Crew } from "./crew.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** A worker that does what a test says: it hears, says, and ends. */
class FakeProcess implements WorkerProcess {
  readonly pid: number;
  readonly heard: string[] = [];
  #onMessage: (message: unknown) => void = () => undefined;
  #onExit: (code: number | null, signal: string | null) => void = () => undefined;
  isGone = false;
  /** Its answers to questions; none for those that it does not answer. */
  answers: Record<string, unknown> = {};

  constructor(pid: number) {
    this.pid = pid;
  }

  send(message: object): void {
    const { manx, name, id } = message as { manx: string; name: string; id: number };
    this.heard.push(name);
    if (manx === "ask" && name in this.answers) {
      this.#onMessage({ manx: "answer", id, value: this.answers[name] });
    }
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#onMessage = listener;
  }

  onExit(listener: (code: number | null, signal: string | null) => void): void {
    this.#onExit = listener;
  }

  kill(): void {
    this.end(null, "SIGKILL");
  }

  say(name: string, value?: unknown): void {
    this.#onMessage({ manx: "tell", name, value });
  }

  end(code: number | null, signal: string | null = null): void {
    if (this.isGone) return;
    this.isGone = true;
    this.#onExit(code, signal);
  }
}

function world(workers: number, onFork: (process: FakeProcess) => void = serve) {
  const clock = new SimClock();
  const processes: FakeProcess[] = [];
  const notices: ManxError[] = [];
  const crew = new Crew({
    clock,
    workers,
    fork: () => {
      const process = new FakeProcess(processes.length + 1);
      processes.push(process);
      queueMicrotask(() => onFork(process));
      return process;
    },
    onStart: () => undefined,
    onNotice: (notice) => notices.push(notice),
    onChange: () => undefined,
  });
  const states = (): string[] => crew.statuses.map(({ worker, state }) => `${worker} ${state}`);
  const pass = (us: number): Promise<void> => clock.run(clock.nowUs() + us);
  return { crew, clock, processes, notices, states, pass };
}

function serve(process: FakeProcess): void {
  process.say("serving", { url: `of ${process.pid}` });
}

describe("a crew", () => {
  it("starts one, and the others once that one serves", async () => {
    const { crew, processes, states } = world(3, () => undefined);
    const started = crew.start();
    expect(states()).toEqual(["1 starting"]);
    serve(processes[0]!);
    await new Promise(setImmediate);
    expect(states()).toEqual(["1 serving", "2 starting", "3 starting"]);
    for (const process of processes.slice(1)) serve(process);
    expect(await started).toEqual({ url: "of 1" });
  });

  it("starts no other if the first cannot, and says why", async () => {
    const { crew, processes, notices, pass } = world(2, (process) => {
      process.say("failed", { code: "MANX_PORT_IN_USE", message: "taken", where: "x:1" });
      process.end(1);
    });
    await expect(crew.start()).rejects.toMatchObject({ code: "MANX_PORT_IN_USE", where: "x:1" });
    await pass(60 * US_PER_S);
    expect([processes.length, notices.length]).toEqual([1, 0]);
  });

  it("starts one that has ended again: at once, then ever more slowly, and at once when it has served for long", async () => {
    const { crew, clock, processes, notices, pass } = world(2);
    await crew.start();
    const pauses: number[] = [];
    for (let i = 0; i < 9; i += 1) {
      const before = processes.length;
      const endUs = clock.nowUs();
      processes.at(-1)!.end(null, "SIGSEGV");
      while (processes.length === before) await pass(50 * US_PER_MS);
      pauses.push((clock.nowUs() - endUs) / US_PER_MS);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
    expect(crew.restarts).toBe(9);
    expect(notices[0]).toMatchObject({ code: "MANX_WORKER", got: "SIGSEGV" });
    expect(processes[0]!.isGone).toBe(false);
    await pass(61 * US_PER_S);
    processes.at(-1)!.end(1);
    await pass(100 * US_PER_MS);
    expect(processes).toHaveLength(12);
  });

  it("kills one that neither serves nor ends, and starts another", async () => {
    let isDeaf = false;
    const { crew, processes, pass, states } = world(1, (process) => !isDeaf && serve(process));
    await crew.start();
    isDeaf = true;
    processes[0]!.end(1);
    await pass(US_PER_S);
    expect(states()).toEqual(["2 starting"]);
    isDeaf = false;
    await pass(62 * US_PER_S);
    expect(states()).toEqual(["3 serving"]);
  });

  it("renews its workers one by one: the new one serves before the old one leaves", async () => {
    const { crew, processes, states } = world(2);
    await crew.start();
    expect(await crew.renew()).toBe(2);
    expect(states()).toEqual(["1 leaving", "2 leaving", "3 serving", "4 serving"]);
    processes[0]!.end(0);
    processes[1]!.end(0);
    expect(states()).toEqual(["3 serving", "4 serving"]);
  });

  it("keeps its old workers if a new one cannot start", async () => {
    let isBroken = false;
    const { crew, states, notices, pass } = world(2, (process) => {
      if (isBroken) process.end(2);
      else serve(process);
    });
    await crew.start();
    isBroken = true;
    expect(await crew.renew()).toBe(0);
    await pass(60 * US_PER_S);
    expect([states(), notices]).toEqual([["1 serving", "2 serving"], []]);
  });

  it("asks all at once, and goes without those that do not answer in time", async () => {
    const { crew, processes, pass } = world(3);
    await crew.start();
    processes[0]!.answers = { page: "a" };
    processes[2]!.answers = { page: "c" };
    const gathered = crew.gather("page", undefined, US_PER_S);
    await pass(2 * US_PER_S);
    const { answers, missing } = await gathered;
    expect(answers).toEqual([
      { worker: 1, value: "a" },
      { worker: 3, value: "c" },
    ]);
    expect(missing).toMatchObject([{ worker: 2, error: { code: "MANX_WORKER" } }]);
  });

  it("is asked by nobody who has ended: what is open then fails at once", async () => {
    const { crew, processes, clock } = world(1);
    await crew.start();
    const gathered = crew.gather("page", undefined, 60 * US_PER_S);
    processes[0]!.end(1);
    expect((await gathered).missing).toHaveLength(1);
    expect(clock.nowUs()).toBe(0);
  });

  it("leaves together, kills who stays too long, and restarts nobody", async () => {
    const { crew, processes, pass, states } = world(3);
    await crew.start();
    processes[2]!.end(1);
    const left = crew.leave(10 * US_PER_S);
    expect(processes.slice(0, 2).map(({ heard }) => heard.includes("leave"))).toEqual([true, true]);
    processes[0]!.end(0);
    await pass(14 * US_PER_S);
    expect(states()).toEqual(["2 leaving"]);
    await pass(2 * US_PER_S);
    await left;
    expect([states(), processes.length]).toEqual([[], 3]);
  });

  it("cuts who is leaving", async () => {
    const { crew, processes } = world(1);
    await crew.start();
    const left = crew.leave(10 * US_PER_S);
    crew.cut();
    expect(processes[0]!.heard).toEqual(["leave", "cut"]);
    processes[0]!.end(0);
    await left;
  });
});
