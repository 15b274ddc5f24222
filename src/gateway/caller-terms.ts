/** What a caller sets by headers: until when it wants its answer, and which try of its own this is. */
import type { IncomingHttpHeaders } from "node:http";
import { ManxError, US_PER_MS, US_PER_S } from "../core/index.ts";

export interface CallerTerms {
  /** An instant; infinite if the caller sets none. */
  readonly deadlineUs: number;
  /** Tries that the caller's own SDK has made before this one. */
  readonly retries: number;
}

/** Milliseconds that the caller gives the call, from its arrival here. */
const DEADLINE_HEADER = "x-manx-deadline-ms";
const DEADLINE_MS_MAX = 24 * 3_600 * 1_000;

/**
 * @param isStream the official SDKs send their time-out as `x-stainless-timeout` in seconds. They hold it against the head
 * of the answer only, so it is a deadline for calls that do not stream, and none for streams.
 * @throws MANX_REQUEST_INVALID for a deadline of ours that is no time; what others send is taken or left.
 */
export function readTerms(
  headers: IncomingHttpHeaders,
  receivedUs: number,
  isStream: boolean,
): CallerTerms {
  return {
    deadlineUs: Math.min(
      ownDeadlineUs(headers[DEADLINE_HEADER], receivedUs),
      isStream
        ? Number.POSITIVE_INFINITY
        : sdkDeadlineUs(headers["x-stainless-timeout"], receivedUs),
    ),
    retries: wholeNumber(headers["x-stainless-retry-count"]) ?? 0,
  };
}

function ownDeadlineUs(value: string | string[] | undefined, receivedUs: number): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  const ms = wholeNumber(value);
  if (ms === undefined || ms === 0 || ms > DEADLINE_MS_MAX) {
    throw new ManxError("MANX_REQUEST_INVALID", {
      where: DEADLINE_HEADER,
      expected: `whole milliseconds from 1 to ${DEADLINE_MS_MAX}`,
      got: JSON.stringify(value).slice(0, 40),
    });
  }
  return receivedUs + ms * US_PER_MS;
}

function sdkDeadlineUs(value: string | string[] | undefined, receivedUs: number): number {
  const seconds = wholeNumber(value);
  return seconds === undefined || seconds === 0
    ? Number.POSITIVE_INFINITY
    : receivedUs + seconds * US_PER_S;
}

function wholeNumber(value: string | string[] | undefined): number | undefined {
  return typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
