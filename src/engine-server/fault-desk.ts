/**
 * Where a request meets its fault: the one that it asks for, else the one that it draws. Each is counted when it happens,
 * not when it is asked for. Faults that need no engine are answered here; the others are built into the delivery.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Clock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";
import { type Delivery, type DeliveryParts, StreamDelivery, WholeDelivery } from "./delivery.ts";
import type { Fault, FaultKind, FaultShare, FaultStatus } from "./fault.ts";
import { retryHeaders, sendFaultStatus } from "./fault-answer.ts";
import { FaultLottery } from "./fault-lottery.ts";
import { parseFault, parseFaultHeader } from "./fault-schema.ts";
import { FaultedStream, FaultedWhole } from "./faulted-delivery.ts";
import { cutResponse } from "./faulted-outlet.ts";
import { type Fields, optionalObject } from "./fields.ts";
import { ModelChangeForm } from "./model-change-form.ts";
import type { ResponseForm, ResponseHead } from "./response-form.ts";
import { ShutDoor } from "./shut-door.ts";

export interface FaultDeskOptions {
  readonly server: Server;
  readonly clock: Clock;
  readonly shares: readonly FaultShare[];
  readonly seed: number;
  /** Most requests that hang at a time; one more is refused. */
  readonly hangingMax: number;
  readonly onStrike: (kind: FaultKind) => void;
}

/** How the answer would leave without a fault. */
export interface DeliveryWish {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly head: ResponseHead;
  readonly form: (head: ResponseHead) => ResponseForm;
}

export class FaultDesk {
  readonly #options: FaultDeskOptions;
  readonly #lottery: FaultLottery;
  readonly #door: ShutDoor;
  #hanging = 0;

  constructor(options: FaultDeskOptions) {
    this.#options = options;
    this.#lottery = new FaultLottery(options.shares, options.seed);
    this.#door = new ShutDoor(options.server, options.clock);
  }

  /** The body's word comes before the header's, and both before the draw. @throws MANX_REQUEST_INVALID */
  faultOf(request: IncomingMessage, body: Fields): Fault | undefined {
    const drawn = this.#lottery.draw();
    const asked = optionalObject(body, "manx")?.fault ?? undefined;
    if (asked !== undefined) return parseFault(asked, "manx.fault");
    const header = request.headers["x-manx-fault"];
    if (header === undefined) return drawn;
    return parseFaultHeader(String(header));
  }

  /** Answers, or does not, in the engine's place; false: this fault needs the engine. @throws MANX_OVERLOADED */
  instead(fault: Fault | undefined, response: ServerResponse): boolean {
    const { clock, onStrike } = this.#options;
    switch (fault?.kind) {
      case "429":
      case "500":
      case "503":
      case "529": {
        const status = Number(fault.kind) as FaultStatus;
        sendFaultStatus(response, status, retryHeaders(fault, clock.wallMs()));
        break;
      }
      case "hang":
        this.#hang(response);
        break;
      case "refuse":
        this.#door.shut(fault.forUs);
        cutResponse(response, "rst");
        break;
      default:
        return false;
    }
    onStrike(fault.kind);
    return true;
  }

  deliveryOf(
    fault: Fault | undefined,
    parts: Omit<DeliveryParts, "form">,
    wish: DeliveryWish,
  ): Delivery {
    const { clock } = this.#options;
    const onStrike = (): void => this.#options.onStrike(fault!.kind);
    const usual = wish.form(wish.head);
    if (fault?.kind === "model-change") {
      const other = wish.form({ ...wish.head, model: fault.model });
      const form = new ModelChangeForm(usual, other, fault.after, onStrike);
      return deliver({ ...parts, form }, wish);
    }
    const all = { ...parts, form: usual };
    switch (fault?.kind) {
      case "stall":
      case "slow-drip":
      case "slow-headers":
      case "cut":
      case "error-in-stream":
      case "malformed-frame": {
        const options = { fault, clock, onStrike };
        if (wish.stream) return new FaultedStream(all, wish.includeUsage, options);
        return new FaultedWhole(all, options);
      }
      default:
        return deliver(all, wish);
    }
  }

  /** No timer opens the port any more. */
  end(): void {
    this.#door.end();
  }

  #hang(response: ServerResponse): void {
    const { hangingMax } = this.#options;
    if (this.#hanging >= hangingMax) {
      throw new ManxError("MANX_OVERLOADED", {
        what: "too many requests hang already",
        expected: `fewer than ${hangingMax}`,
        got: `${this.#hanging}`,
      });
    }
    this.#hanging += 1;
    response.once("close", () => {
      this.#hanging -= 1;
    });
  }
}

function deliver(parts: DeliveryParts, { stream, includeUsage }: DeliveryWish): Delivery {
  return stream ? new StreamDelivery(parts, includeUsage) : new WholeDelivery(parts);
}
