/**
 * What is counted of attempts, each when it happens and not with its call: a stream may run for ten minutes after its first
 * try has failed, and whoever looks at an upstream that refuses must not have to wait for that.
 */
import type { AttemptRecord, BeginCause } from "../../policy/index.ts";
import type { ConnectionMarks } from "../transport/connection-marks.ts";
import type { MetricPage } from "./metric-page.ts";

export class AttemptMetrics {
  readonly #attempts;
  readonly #retries;
  readonly #hedges;
  readonly #reuse;

  constructor(page: MetricPage) {
    this.#attempts = page.counter(
      "attempts_total",
      "Attempts that have ended, by why they began and how they ended",
      ["model", "upstream", "cause", "end"],
    );
    this.#retries = page.counter("retries_total", "Attempts beyond the first that have begun", [
      "reason",
    ]);
    this.#hedges = page.counter("hedges_total", "Hedges that began, and those that were faster", [
      "model",
      "result",
    ]);
    this.#reuse = page.counter(
      "attempt_connections_total",
      "Attempts that were sent, by how they came by their connection: reused, new, or resumed (a new one with an earlier TLS session)",
      ["upstream", "connection"],
    );
  }

  begins(model: string, cause: BeginCause): void {
    if (cause === "first") return;
    this.#retries.add(this.#retries.book.at(cause));
    if (cause === "hedge") this.#hedges.add(this.#hedges.book.at(model, "started"));
  }

  /** The answer that the caller gets is this attempt's. */
  wins(model: string, cause: BeginCause): void {
    if (cause === "hedge") this.#hedges.add(this.#hedges.book.at(model, "won"));
  }

  /** @param connection undefined if it was never sent. */
  ends(
    model: string,
    upstream: string,
    { cause, end }: AttemptRecord,
    connection: ConnectionMarks | undefined,
  ): void {
    this.#attempts.add(this.#attempts.book.at(model, upstream, cause, end!));
    if (connection !== undefined) {
      this.#reuse.add(this.#reuse.book.at(upstream, connection.reuse));
    }
  }
}
