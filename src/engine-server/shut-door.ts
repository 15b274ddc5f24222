/**
 * A server whose port is closed for a while: new connections are refused by the host itself, as when a process has died
 * or is not up yet. Responses under way go on.
 *
 * Invariant: after `end` the door stays as it is; no timer opens the port of a server that has been closed.
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Cancel, Clock } from "../clock/index.ts";
import { US_PER_MS } from "../core/index.ts";

/** Another process may have taken the port meanwhile; it is tried again this often. */
const RETRY_US = 100 * US_PER_MS;

export class ShutDoor {
  readonly #server: Server;
  readonly #clock: Clock;
  #address: AddressInfo | undefined;
  #untilUs = 0;
  #cancel: Cancel | undefined;
  #isEnded = false;

  constructor(server: Server, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
  }

  /** Refuses connections for `forUs` from now, or for longer if that was asked for before. */
  shut(forUs: number): void {
    if (this.#isEnded) return;
    this.#untilUs = Math.max(this.#untilUs, this.#clock.nowUs() + forUs);
    if (this.#address === undefined) {
      const address = this.#server.address();
      if (address === null || typeof address === "string") return;
      this.#address = address;
      this.#server.close();
      // A pooled connection would get round the refusal.
      this.#server.closeIdleConnections();
    }
    this.#openAt(this.#untilUs);
  }

  end(): void {
    this.#isEnded = true;
    this.#cancel?.();
  }

  #openAt(atUs: number): void {
    this.#cancel?.();
    this.#cancel = this.#clock.at(atUs, () => this.#open());
  }

  #open(): void {
    const { address, port } = this.#address!;
    const onError = (): void => {
      this.#server.off("listening", onListening);
      if (!this.#isEnded) this.#openAt(this.#clock.nowUs() + RETRY_US);
    };
    const onListening = (): void => {
      this.#server.off("error", onError);
      this.#address = undefined;
      if (this.#isEnded) this.#server.close();
    };
    this.#server.once("error", onError).once("listening", onListening);
    this.#server.listen({ host: address, port });
  }
}
