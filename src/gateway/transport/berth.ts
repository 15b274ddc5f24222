/**
 * One request's place at an origin: on a connection that is open, or waiting for one. Taken from the pool, and given back
 * in exactly one way.
 *
 *     waiting ──open──► bound ──► released | cancelled
 *         └───────────────────────────────────▲
 */
import type { Cancel } from "../../clock/index.ts";
import type { Channel, ResponseSink, UpstreamRequest } from "./channel.ts";
import type { ConnectionMarks } from "./connection-marks.ts";
import type { Taken } from "./connection-shelf.ts";
import type { Waiter } from "./opening.ts";

/** What a berth needs of its pool. */
export interface BerthHome {
  /** @returns leaves the line. */
  await(waiter: Waiter): Cancel;
  /** A request went out on a connection that had been unused for `idleUs`, and found it dead. */
  raced(idleUs: number): void;
  /** Called once. */
  ended(): void;
}

export class Berth {
  readonly #home: BerthHome;
  readonly #idleUs: number;
  #channel: Channel | undefined;
  #leave: Cancel | undefined;
  #isOver = false;
  /** The connection was open when the request came. */
  readonly isWarm: boolean;

  constructor(home: BerthHome, taken: Taken | undefined) {
    this.#home = home;
    this.#channel = taken?.channel;
    this.#idleUs = taken?.idleUs ?? 0;
    this.isWarm = taken !== undefined;
  }

  /** undefined until there is a connection. */
  get marks(): ConnectionMarks | undefined {
    return this.#channel?.marks;
  }

  /** Calls back once, unless it is cancelled before; at once if it is warm. */
  open(done: (error: Error | null) => void): void {
    if (this.#channel !== undefined) {
      done(null);
      return;
    }
    this.#leave = this.#home.await({
      opened: (channel) => {
        this.#channel = channel;
        // Somebody who was told before may have cancelled it.
        if (this.#isOver) channel.release();
        else done(null);
      },
      failed: (error) => {
        if (!this.#isOver) done(error);
      },
      moved: (leave) => {
        this.#leave = leave;
      },
    });
  }

  /** Once it is open. */
  send(request: UpstreamRequest, sink: ResponseSink): void {
    this.#channel!.send(request, sink);
  }

  shutValve(): void {
    this.#channel?.shutValve();
  }

  openValve(): void {
    this.#channel?.openValve();
  }

  /** The connection was found dead before a byte came: its age says something about the upstream. */
  raced(): void {
    this.#home.raced(this.#idleUs);
  }

  /** The request has ended well. */
  release(): void {
    if (this.#end()) this.#channel!.release();
  }

  /** In any state; the upstream is told that nobody waits. */
  cancel(): void {
    if (!this.#end()) return;
    if (this.#channel === undefined) this.#leave?.();
    else this.#channel.cancel();
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#home.ended();
    return true;
  }
}
