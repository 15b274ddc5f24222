/**
 * Which task may start, as a pure state machine: told what has ended, it answers what may begin, what cannot happen any
 * more, and what no longer matters. Nothing is polled; each edge is looked at twice in all.
 *
 *     waiting ─► ready ─► running ─► ok | failed
 *        └────────┴─► skipped            a need has failed, or nobody wants it any more
 *
 * Invariants: a task is ready only when all its needs are ok; a task whose need is not ok never runs; once settled, a
 * task stays what it is.
 */
import { assert } from "../core/index.ts";

type TaskState = "waiting" | "ready" | "running" | "ok" | "failed" | "skipped";

interface Node<Key> {
  readonly key: Key;
  readonly needs: readonly Node<Key>[];
  readonly dependents: Node<Key>[];
  openNeeds: number;
  /** Dependents that have not settled. */
  openDependents: number;
  isWanted: boolean;
  state: TaskState;
}

interface Doomed<Key> {
  readonly node: Node<Key>;
  readonly because: Key | undefined;
}

/** In the order in which they came to be. */
export interface GraphNews<Key> {
  readonly ready: readonly Key[];
  /** They will never run. `because` is the need that failed, or undefined if nobody wants it any more. */
  readonly skipped: ReadonlyArray<{ readonly key: Key; readonly because: Key | undefined }>;
  /** They run, and nobody wants their result any more: cancel them, and `settle` them when they are. */
  readonly pointless: readonly Key[];
}

export class TaskGraph<Key> {
  readonly #nodes = new Map<Key, Node<Key>>();
  #ready: Key[] = [];
  #skipped: { key: Key; because: Key | undefined }[] = [];
  #pointless: Key[] = [];
  #open = 0;

  /** Tasks that have not settled. */
  get open(): number {
    return this.#open;
  }

  has(key: Key): boolean {
    return this.#nodes.has(key);
  }

  /**
   * @param needs tasks that were added before, so that no cycle can come about.
   * @param isWanted its result is wanted for its own sake, not only by its dependents.
   */
  add(key: Key, needs: readonly Key[] = [], isWanted = true): void {
    assert(!this.#nodes.has(key), "a task is added once");
    const needed = [...new Set(needs)].map((one) => this.#node(one));
    const open = needed.filter(({ state }) => state !== "ok");
    const node: Node<Key> = {
      key,
      needs: needed,
      dependents: [],
      openNeeds: open.length,
      openDependents: 0,
      isWanted,
      state: "waiting",
    };
    this.#nodes.set(key, node);
    this.#open += 1;
    for (const need of needed) {
      if (isSettled(need)) continue;
      need.dependents.push(node);
      need.openDependents += 1;
    }
    const dead = needed.find(({ state }) => state === "failed" || state === "skipped");
    if (dead !== undefined) this.#skipAll([{ node, because: dead.key }]);
    else if (open.length === 0) this.#makeReady(node);
  }

  /** All tasks are there: those that lead to nothing that is wanted are skipped. */
  prune(): void {
    const doomed: Doomed<Key>[] = [];
    for (const node of this.#nodes.values()) this.#dropIfPointless(node, doomed);
    this.#skipAll(doomed);
  }

  /** Asked right before a start: an earlier task of the same news may have failed meanwhile. */
  isReady(key: Key): boolean {
    return this.#nodes.get(key)?.state === "ready";
  }

  begin(key: Key): void {
    const node = this.#node(key);
    assert(node.state === "ready", "only a ready task begins");
    node.state = "running";
  }

  /** The task has ended; one that was skipped meanwhile stays skipped. */
  settle(key: Key, isOk: boolean): void {
    const node = this.#node(key);
    if (isSettled(node)) return;
    node.state = isOk ? "ok" : "failed";
    const doomed: Doomed<Key>[] = [];
    for (const dependent of node.dependents) {
      if (isSettled(dependent)) continue;
      if (!isOk) doomed.push({ node: dependent, because: key });
      else {
        dependent.openNeeds -= 1;
        if (dependent.openNeeds === 0) this.#makeReady(dependent);
      }
    }
    this.#leave(node, doomed);
    this.#skipAll(doomed);
  }

  /** Its result is not wanted for its own sake any more. */
  unwant(key: Key): void {
    const node = this.#node(key);
    node.isWanted = false;
    const doomed: Doomed<Key>[] = [];
    this.#dropIfPointless(node, doomed);
    this.#skipAll(doomed);
  }

  /** What has changed since the last call. */
  take(): GraphNews<Key> {
    const news = {
      ready: this.#ready.filter((key) => this.#node(key).state === "ready"),
      skipped: this.#skipped,
      pointless: this.#pointless.filter((key) => this.#node(key).state === "running"),
    };
    this.#ready = [];
    this.#skipped = [];
    this.#pointless = [];
    return news;
  }

  #node(key: Key): Node<Key> {
    const node = this.#nodes.get(key);
    assert(node !== undefined, `the task ${String(key)} is in the graph`);
    return node;
  }

  #makeReady(node: Node<Key>): void {
    node.state = "ready";
    this.#ready.push(node.key);
  }

  /** These and all that depend on them, and what only they needed; without recursion, since chains may be long. */
  #skipAll(doomed: Doomed<Key>[]): void {
    for (let top = doomed.pop(); top !== undefined; top = doomed.pop()) {
      const { node, because } = top;
      if (isSettled(node)) continue;
      node.state = "skipped";
      this.#skipped.push({ key: node.key, because });
      for (const dependent of node.dependents) doomed.push({ node: dependent, because: node.key });
      this.#leave(node, doomed);
    }
  }

  /** A settled task needs its needs no more. */
  #leave(node: Node<Key>, doomed: Doomed<Key>[]): void {
    this.#open -= 1;
    for (const need of node.needs) {
      if (isSettled(need)) continue;
      need.openDependents -= 1;
      this.#dropIfPointless(need, doomed);
    }
  }

  #dropIfPointless(node: Node<Key>, doomed: Doomed<Key>[]): void {
    if (node.isWanted || node.openDependents > 0 || isSettled(node)) return;
    if (node.state === "running") this.#pointless.push(node.key);
    else doomed.push({ node, because: undefined });
  }
}

function isSettled<Key>({ state }: Node<Key>): boolean {
  return state === "ok" || state === "failed" || state === "skipped";
}
