/**
 * What one request costs in admission, offer to finish: nobody waits, and a thousand of a hundred tenants wait. Beside it
 * what a `Map` costs that only remembers who is in flight, which nothing with an answer can do without.
 *
 *     npm run bench:admission
 *
 * Rounds alternate; the minimum is the figure, since noise only adds.
 */
import { Admission, type AdmissionRequest, type Decision } from "../src/policy/index.ts";

const REQUESTS = 100_000;
const ROUNDS = 7;
const GOAL_NS = 2_000;
const OUTCOME = { inputTokens: 700, outputTokens: 180, ttftUs: 90_000, ok: true };

function requestOf(id: number): AdmissionRequest {
  return {
    id,
    tenant: `t${id % 100}`,
    priority: id % 3,
    inputTokens: 200 + ((id * 7_919) % 2_000),
    outputTokensMax: 1_000,
    route: "model",
    deadlineUs: Number.POSITIVE_INFINITY,
  };
}

const requests = Array.from({ length: REQUESTS }, (_, id) => requestOf(id));

function timeNs(run: () => void): number {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start) / REQUESTS;
}

function nobodyWaits(): void {
  const admission = new Admission();
  for (const request of requests) {
    admission.offer(request, request.id);
    admission.firstContent(request.id, 90_000, request.id);
    admission.finish(request.id, OUTCOME, request.id);
  }
}

function manyWait(): void {
  const admission = new Admission({
    concurrency: { kind: "fixed", limit: 64 },
    ageMaxUs: 600_000_000,
    queueMax: 100_000,
  });
  const running: number[] = [];
  let next = 0;
  const note = (decisions: readonly Decision[]): void => {
    for (const { kind, id } of decisions) if (kind === "admit") running.push(id);
  };
  while (next < 1_064) note([admission.offer(requests[next++]!, 0)]);
  for (let head = 0; head < running.length; head += 1) {
    note(admission.finish(running[head]!, OUTCOME, head));
    if (next < REQUESTS) note([admission.offer(requests[next++]!, head)]);
  }
}

function onlyMap(): void {
  const inFlight = new Map<number, AdmissionRequest>();
  for (const request of requests) {
    inFlight.set(request.id, { ...request });
    inFlight.delete(request.id);
  }
}

const WAYS = { "nobody waits": nobodyWaits, "a thousand wait": manyWait, "a map alone": onlyMap };
const best = new Map<string, number>();
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, run] of Object.entries(WAYS)) {
    best.set(name, Math.min(best.get(name) ?? Number.POSITIVE_INFINITY, timeNs(run)));
  }
}
for (const [name, ns] of best) console.log(`${name.padEnd(16)} ${Math.round(ns)} ns per request`);
console.log(`goal: ≤ ${GOAL_NS} ns where nobody waits`);
if (best.get("nobody waits")! > GOAL_NS) process.exitCode = 1;
