/**
 * The tree under the token-level prefix memory: each edge is a stretch of tokens, told apart by the names of the pieces
 * that they lie in, and owned by the node at its lower end.
 *
 *     root ──[a a a b b]──▶ node ──[c c]──▶ node         runs (a,3)(b,2) and (c,2)
 *                             └────[d d d]──▶ node       children differ in the name of their first token
 *
 * Invariants: a node's holders are also its ancestors' (`references` counts whole paths); nodes without a holder form a
 * list in which every node comes before its parent, so the oldest of them is always a leaf.
 */
import { assert } from "../core/index.ts";

/** `tokens` consecutive tokens of the piece called `name`. */
export interface Run {
  readonly name: number;
  readonly tokens: number;
}

export class RadixNode {
  parent: RadixNode | undefined;
  runs: Run[];
  /** Of its edge, and of the path from the root to the edge's end. */
  tokens: number;
  readonly end: number;
  readonly children = new Map<number, RadixNode>();
  references = 0;
  /** Neighbours in the list of nodes without a holder. */
  newer: RadixNode = this;
  older: RadixNode = this;

  constructor(parent: RadixNode | undefined, runs: Run[]) {
    this.parent = parent;
    this.runs = runs;
    this.tokens = countTokens(runs);
    this.end = (parent?.end ?? 0) + this.tokens;
  }
}

export class RadixTree {
  readonly root = new RadixNode(undefined, []);
  /** Tokens of nodes with a holder, of nodes without, and those held by more than one, once for each but the first. */
  heldTokens = 0;
  idleTokens = 0;
  sharedTokens = 0;
  /** Head and tail of the list of nodes without a holder; the oldest is `newer` of it. */
  readonly #list = new RadixNode(undefined, []);

  /** How far the runs are found: the node in whose edge, or at whose end, the match ends, and its length. */
  find(runs: readonly Run[], limit: number): { node: RadixNode; tokens: number } {
    let node = this.root;
    let tokens = 0;
    const rest = new RunReader(runs);
    while (tokens < limit) {
      const child = node.children.get(rest.name);
      if (child === undefined) break;
      const matched = Math.min(commonTokens(child.runs, rest), limit - tokens);
      tokens += matched;
      node = child;
      if (matched < child.tokens) break;
    }
    return { node, tokens };
  }

  /** Tokens up to `depth` above `node` that nobody holds: they stop being evictable once it is held. */
  idleAbove(node: RadixNode, depth: number): number {
    let idle = 0;
    for (
      let at: RadixNode | undefined = node;
      at?.references === 0 && at !== this.root;
      at = at.parent
    )
      idle += Math.min(depth, at.end) - (at.end - at.tokens);
    return idle;
  }

  /** The node that ends at exactly `depth` on the way to `node`, made by a split if there is none. */
  cut(node: RadixNode, depth: number): RadixNode {
    if (node.end === depth) return node;
    const kept = depth - (node.end - node.tokens);
    assert(kept > 0 && kept < node.tokens, "a split is inside the edge");
    const parent = node.parent!;
    const [before, after] = splitRuns(node.runs, kept);
    const upper = new RadixNode(parent, before);
    upper.references = node.references;
    parent.children.set(before[0]!.name, upper);
    upper.children.set(after[0]!.name, node);
    node.parent = upper;
    node.runs = after;
    node.tokens -= kept;
    if (node.references === 0) link(upper, node);
    return upper;
  }

  /** A new leaf, with no holder yet, which its maker holds right after. */
  grow(parent: RadixNode, runs: Run[]): RadixNode {
    const leaf = new RadixNode(parent, runs);
    assert(!parent.children.has(runs[0]!.name), "a new leaf differs in its first token");
    parent.children.set(runs[0]!.name, leaf);
    this.#idle(leaf);
    this.idleTokens += leaf.tokens;
    return leaf;
  }

  /** One more holder for each node from `node` up to, without it, `until`. */
  hold(node: RadixNode, until = this.root): void {
    for (let at = node; at !== until; at = at.parent!) {
      if (at.references === 0) {
        unlink(at);
        this.idleTokens -= at.tokens;
        this.heldTokens += at.tokens;
      } else {
        this.sharedTokens += at.tokens;
      }
      at.references += 1;
    }
  }

  /** One holder less on the whole path; the deepest becomes evictable first. */
  letGo(node: RadixNode): void {
    for (let at = node; at !== this.root; at = at.parent!) {
      at.references -= 1;
      assert(at.references >= 0, "no path is let go twice");
      if (at.references > 0) {
        this.sharedTokens -= at.tokens;
        continue;
      }
      this.#idle(at);
      this.heldTokens -= at.tokens;
      this.idleTokens += at.tokens;
    }
  }

  /** Forgets the leaf that has gone unused for longest. Answers how many tokens that frees. */
  evict(): number {
    const leaf = this.#list.newer;
    assert(leaf !== this.#list, "something is left to evict");
    assert(leaf.references === 0 && leaf.children.size === 0, "what is evicted is an idle leaf");
    unlink(leaf);
    leaf.parent!.children.delete(leaf.runs[0]!.name);
    this.idleTokens -= leaf.tokens;
    return leaf.tokens;
  }

  /** @param holders the node that each holder holds. @throws MANX_INTERNAL */
  check(holders: Iterable<RadixNode>): void {
    const references = new Map<RadixNode, number>();
    for (const held of holders) {
      for (let at = held; at !== this.root; at = at.parent!) {
        references.set(at, (references.get(at) ?? 0) + 1);
      }
    }
    const listed = new Set<RadixNode>();
    for (let at = this.#list.newer; at !== this.#list; at = at.newer) {
      for (const child of at.children.values()) assert(listed.has(child), "children go first");
      listed.add(at);
    }
    const sums = { held: 0, idle: 0, shared: 0 };
    const open = [...this.root.children.values()];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      open.push(...node.children.values());
      const holding = references.get(node) ?? 0;
      assert(node.references === holding, "a node knows its holders");
      assert(listed.has(node) === (holding === 0), "idle nodes, and only they, are listed");
      assert(node.end - node.tokens === node.parent!.end, "an edge begins where its parent ends");
      assert(countTokens(node.runs) === node.tokens, "an edge has its tokens");
      sums[holding === 0 ? "idle" : "held"] += node.tokens;
      sums.shared += node.tokens * Math.max(0, holding - 1);
      listed.delete(node);
    }
    assert(listed.size === 0, "what is listed is in the tree");
    assert(sums.held === this.heldTokens && sums.idle === this.idleTokens, "tokens are conserved");
    assert(sums.shared === this.sharedTokens, "shared tokens are counted");
  }

  #idle(node: RadixNode): void {
    link(node, this.#list.older);
  }
}

/** Puts `node` into the list right after `before`. */
function link(node: RadixNode, before: RadixNode): void {
  node.older = before;
  node.newer = before.newer;
  before.newer.older = node;
  before.newer = node;
}

function unlink(node: RadixNode): void {
  node.older.newer = node.newer;
  node.newer.older = node.older;
}

/** A place in a list of runs. */
class RunReader {
  readonly #runs: readonly Run[];
  #at = 0;
  #into = 0;

  constructor(runs: readonly Run[]) {
    this.#runs = runs;
  }

  /** Of the next token; NaN at the end, which no node is called. */
  get name(): number {
    return this.#runs[this.#at]?.name ?? Number.NaN;
  }

  /** Left of the current run. */
  get tokens(): number {
    return (this.#runs[this.#at]?.tokens ?? 0) - this.#into;
  }

  skip(tokens: number): void {
    this.#into += tokens;
    if (this.tokens > 0) return;
    this.#at += 1;
    this.#into = 0;
  }
}

/** Takes from `reader` what agrees with `runs` from its start. */
function commonTokens(runs: readonly Run[], reader: RunReader): number {
  let common = 0;
  for (const run of runs) {
    let left = run.tokens;
    while (left > 0 && reader.name === run.name) {
      const same = Math.min(left, reader.tokens);
      reader.skip(same);
      common += same;
      left -= same;
    }
    if (left > 0) break;
  }
  return common;
}

export function splitRuns(runs: readonly Run[], at: number): [before: Run[], after: Run[]] {
  const before: Run[] = [];
  const after: Run[] = [];
  let left = at;
  for (const { name, tokens } of runs) {
    const first = Math.min(left, tokens);
    if (first > 0) before.push({ name, tokens: first });
    if (first < tokens) after.push({ name, tokens: tokens - first });
    left -= first;
  }
  return [before, after];
}

function countTokens(runs: readonly Run[]): number {
  return runs.reduce((sum, { tokens }) => sum + tokens, 0);
}
