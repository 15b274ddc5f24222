/**
 * Which replicas are slower than their peers, and by how much. The measure is the time to first token per token that had to
 * be computed, smoothed on a logarithmic scale; a replica is compared with the median of the others. So a hard minute that
 * all share makes nobody slow, and a replica whose neighbour takes half of its GPU shows within a dozen requests.
 */
import { US_PER_S } from "../../core/index.ts";

/** Of a time to first token that depends on no prompt token: queueing for a step, a kernel launch, the network. */
const FLOOR_TOKENS = 512;
/** Weight of the newest sample: eight or so decide. */
const SMOOTHING = 0.15;
const SAMPLES_MIN = 8;
const SLOW_FROM = Math.log(3);
/** Lower than where it began, so that a replica at the edge does not flap. */
const SLOW_UNTIL = Math.log(1.8);
/** What is older says nothing any more: the replica is given another chance. */
const STALE_US = 30 * US_PER_S;
/** Judged again at most this often: comparing takes a sort of the fleet. */
const JUDGE_US = US_PER_S / 10;
const WEIGHT_LEAST = 0.1;

interface Watched {
  readonly group: string;
  logMean: number;
  samples: number;
  lastUs: number;
  judgedUs: number;
  isSlow: boolean;
  weight: number;
}

export class SlowWatch {
  readonly #replicas: Watched[];

  /** @param groups by replica: it is compared with those of its own group. */
  constructor(groups: readonly string[]) {
    this.#replicas = groups.map(fresh);
  }

  /** @param newTokens prompt tokens that it was thought to have to compute. */
  record(replica: number, ttftUs: number, newTokens: number, nowUs: number): void {
    const one = this.#replicas[replica]!;
    if (nowUs - one.lastUs > STALE_US) this.forget(replica);
    const sample = Math.log(Math.max(1, ttftUs) / (newTokens + FLOOR_TOKENS));
    const watched = this.#replicas[replica]!;
    // A plain mean at first, so that the first sample does not weigh for ever.
    const share = Math.max(SMOOTHING, 1 / (watched.samples + 1));
    watched.logMean += share * (sample - watched.logMean);
    watched.samples += 1;
    watched.lastUs = nowUs;
    if (nowUs - watched.judgedUs >= JUDGE_US) this.#judge(watched, nowUs);
  }

  /** @returns its speed as a share of its peers', 1 for one that is not slow. */
  weight(replica: number, nowUs: number): number {
    const { isSlow, weight, lastUs } = this.#replicas[replica]!;
    return isSlow && nowUs - lastUs <= STALE_US ? weight : 1;
  }

  forget(replica: number): void {
    this.#replicas[replica] = fresh(this.#replicas[replica]!.group);
  }

  #judge(one: Watched, nowUs: number): void {
    one.judgedUs = nowUs;
    if (one.samples < SAMPLES_MIN) return;
    const peers = this.#replicas
      .filter((peer) => peer !== one && peer.group === one.group && peer.samples >= SAMPLES_MIN)
      .filter((peer) => nowUs - peer.lastUs <= STALE_US)
      .map(({ logMean }) => logMean)
      .sort((a, b) => a - b);
    if (peers.length === 0) {
      one.isSlow = false;
      return;
    }
    const above = one.logMean - peers[Math.floor((peers.length - 1) / 2)]!;
    one.isSlow = above > (one.isSlow ? SLOW_UNTIL : SLOW_FROM);
    one.weight = one.isSlow ? Math.max(WEIGHT_LEAST, Math.exp(-above)) : 1;
  }
}

function fresh(group: string): Watched {
  return {
    group,
    logMean: 0,
    samples: 0,
    lastUs: Number.NEGATIVE_INFINITY,
    judgedUs: Number.NEGATIVE_INFINITY,
    isSlow: false,
    weight: 1,
  };
}
