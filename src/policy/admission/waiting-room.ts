/**
 * Who waits: every change to the queues, and the two heaps of what is due in them. Decides nothing about places.
 *
 * A tenant is in one of three states. Nothing of it waits; or it competes, and each of its lines is in the order of its
 * lane; or it is held by a limit of its own, and none is. `hold` and `release` are the only ways from one of the last two
 * to the other.
 */
import type { AdmissionSettings } from "./admission-options.ts";
import type { Entry } from "./lane.ts";
import { PlacedHeap } from "./placed-heap.ts";
import type { Tenant } from "./tenant.ts";
import type { TenantLedger } from "./tenant-ledger.ts";

function dueFirst(a: Entry, b: Entry): boolean {
  return a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.request.id < b.request.id);
}

function releasedFirst(a: Tenant, b: Tenant): boolean {
  if (a.heldUntilUs !== b.heldUntilUs) return a.heldUntilUs < b.heldUntilUs;
  return a.name < b.name;
}

export class WaitingRoom {
  readonly #ageingUs: number;
  readonly #ledger: TenantLedger;
  readonly #due = new PlacedHeap<Entry>(dueFirst);
  readonly #held = new PlacedHeap<Tenant>(releasedFirst);

  constructor(ledger: TenantLedger, settings: AdmissionSettings) {
    this.#ledger = ledger;
    this.#ageingUs = settings.ageingUs;
  }

  get size(): number {
    return this.#due.size;
  }

  /** When something is due; Infinity if never. */
  get nextDueUs(): number {
    const dueUs = this.#due.peek()?.dueUs ?? Number.POSITIVE_INFINITY;
    return Math.min(dueUs, this.#held.peek()?.heldUntilUs ?? Number.POSITIVE_INFINITY);
  }

  /** Joins its line, at the end, or at the head if it had already been called. */
  join(entry: Entry, nowUs: number, atHead = false): void {
    const { tenant, lane, line } = entry;
    const isFirst = tenant.queued === 0;
    if (atHead) line.prepend(entry);
    else line.append(entry);
    entry.isWaiting = true;
    this.#count(entry, 1);
    tenant.lines.add(line);
    this.#schedule(entry);
    if (tenant.heldUntilUs !== 0) return;
    const untilUs = tenant.blockedUntilUs(nowUs);
    if (untilUs !== 0) this.#hold(tenant, untilUs);
    else {
      if (isFirst) this.#ledger.lift(tenant);
      lane.order(line);
    }
  }

  /** Goes out of its line, to run or for good. */
  leave(entry: Entry): void {
    const { tenant } = entry;
    this.#due.remove(entry);
    entry.isWaiting = false;
    this.#count(entry, -1);
    this.#unline(entry);
    if (tenant.queued > 0) return;
    this.#held.remove(tenant);
    tenant.heldUntilUs = 0;
    this.#ledger.left(tenant);
  }

  /** Its counter or its limits have changed: holds it, lets it compete, or gives it its new place. */
  review(tenant: Tenant, nowUs: number): void {
    if (tenant.queued === 0) return;
    const untilUs = tenant.blockedUntilUs(nowUs);
    if (untilUs !== 0) {
      if (untilUs !== tenant.heldUntilUs) this.#hold(tenant, untilUs);
      return;
    }
    if (tenant.heldUntilUs !== 0) {
      this.#held.remove(tenant);
      tenant.heldUntilUs = 0;
      this.#ledger.lift(tenant);
    }
    for (const line of tenant.lines) line.lane.order(line);
  }

  /** Lets go whom time lets go, ages who has waited, and answers one whose time is up; undefined when all is done. */
  settle(nowUs: number): Entry | undefined {
    for (let tenant = this.#held.peek(); tenant !== undefined; tenant = this.#held.peek()) {
      if (tenant.heldUntilUs > nowUs) break;
      this.review(tenant, nowUs);
    }
    for (let entry = this.#due.peek(); entry !== undefined; entry = this.#due.peek()) {
      if (entry.dueUs > nowUs) break;
      if (entry.expiresUs <= nowUs) return entry;
      this.#promote(entry);
    }
    return undefined;
  }

  /** One class better, at the end of the line there: in a class, arrival there counts. */
  #promote(entry: Entry): void {
    const { tenant, lane } = entry;
    const better = entry.line.priority - 1;
    lane.queuedOf[better + 1]! -= 1;
    lane.queuedOf[better]! += 1;
    this.#unline(entry);
    const line = tenant.line(lane, better);
    line.append(entry);
    tenant.lines.add(line);
    if (tenant.heldUntilUs === 0) lane.order(line);
    this.#due.remove(entry);
    this.#schedule(entry);
  }

  #hold(tenant: Tenant, untilUs: number): void {
    for (const line of tenant.lines) line.lane.leave(line);
    this.#held.remove(tenant);
    tenant.heldUntilUs = untilUs;
    if (untilUs !== Number.POSITIVE_INFINITY) this.#held.push(tenant);
    this.#ledger.left(tenant);
  }

  #unline(entry: Entry): void {
    const { line, tenant, lane } = entry;
    line.remove(entry);
    if (line.head === undefined) {
      tenant.lines.delete(line);
      lane.leave(line);
    } else if (tenant.heldUntilUs === 0) lane.order(line);
  }

  #schedule(entry: Entry): void {
    const { line, offeredUs, expiresUs, priority } = entry;
    const steps = priority - line.priority + 1;
    entry.dueUs =
      line.priority === 0 ? expiresUs : Math.min(expiresUs, offeredUs + steps * this.#ageingUs);
    this.#due.push(entry);
  }

  #count(entry: Entry, by: 1 | -1): void {
    const { tenant, lane, line, tokens } = entry;
    lane.queued += by;
    lane.queuedOf[line.priority]! += by;
    tenant.queued += by;
    tenant.queuedTokens += by * tokens;
    const before = tenant.queuedIn[lane.index]!;
    tenant.queuedIn[lane.index] = before + by;
    if (before + by === 0 || before === 0) lane.tenantsWaiting += by;
  }
}
