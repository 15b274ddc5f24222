/**
 * When a fault strikes an answer: asked before each chunk, told nothing of sockets or time. Invariant: with the same
 * fault and the same positions it says the same, and what strikes once strikes once.
 */
import type { CutForm, DeliveryFault, FaultStatus } from "./fault.ts";

export type FaultAct =
  | { readonly do: "wait"; readonly us: number }
  | { readonly do: "spoil" }
  | { readonly do: "fail"; readonly status: FaultStatus }
  | { readonly do: "cut"; readonly how: CutForm };

export class FaultScript {
  /** How long the head is kept back. */
  readonly headUs: number;
  /** How often silence is broken by a comment, if at all. */
  readonly pingUs: number | undefined;
  readonly #fault: DeliveryFault;
  #struckAt = -1;

  constructor(fault: DeliveryFault) {
    this.#fault = fault;
    this.headUs = fault.kind === "slow-headers" ? fault.forUs : 0;
    this.pingUs = "pingUs" in fault ? fault.pingUs : undefined;
  }

  /** What happens now that `sent` chunks are out; undefined: the next one may go. */
  at(sent: number): FaultAct | undefined {
    const fault = this.#fault;
    if (fault.kind === "slow-headers" || sent < fault.after || sent === this.#struckAt) {
      return undefined;
    }
    if (fault.kind === "slow-drip") {
      this.#struckAt = sent;
      return { do: "wait", us: fault.gapUs };
    }
    if (this.#struckAt >= 0) return undefined;
    this.#struckAt = sent;
    switch (fault.kind) {
      case "stall":
        return { do: "wait", us: fault.forUs };
      case "malformed-frame":
        return { do: "spoil" };
      case "error-in-stream":
        return { do: "fail", status: fault.status };
      case "cut":
        return { do: "cut", how: fault.how };
    }
  }
}
