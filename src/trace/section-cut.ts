/**
 * Cuts one section of the critical path where its phase changes, by the role of its span. What comes out covers the
 * section exactly.
 */

import type { PathSection } from "./critical-path.ts";
import type { Phase, PhaseSub } from "./phase.ts";
import type { ModelMarks, SpanRole } from "./span-role.ts";

/** A stretch of the critical path in one span and one phase. */
export interface PhaseSlice {
  /** Index in the tree. */
  readonly span: number;
  readonly startUs: number;
  readonly endUs: number;
  /** null: structure, which is glue or a hole. */
  readonly phase: Phase | null;
  readonly sub: PhaseSub | null;
}

type Put = (untilUs: number, phase: Phase | null, sub: PhaseSub | null) => void;

/** @param slices where the pieces are added, in order of time. */
export function cutSection(section: PathSection, role: SpanRole, slices: PhaseSlice[]): void {
  const { span, endUs, joinFromUs } = section;
  let fromUs = section.startUs;
  const add = (untilUs: number, phase: Phase | null, sub: PhaseSub | null): void => {
    if (untilUs <= fromUs) return;
    slices.push({ span, startUs: fromUs, endUs: untilUs, phase, sub });
    fromUs = untilUs;
  };
  // Ends in no order do no harm: each piece ends within the section and begins where the one before ended.
  const put: Put = (untilUs, phase, sub) => {
    const end = Math.min(untilUs, endUs);
    if (sub !== null || phase === null || joinFromUs >= end) {
      add(end, phase, sub);
      return;
    }
    add(joinFromUs, phase, null);
    add(end, phase, "join-wait");
  };
  switch (role.type) {
    case "fixed":
      put(endUs, role.phase, role.sub);
      break;
    case "structure":
      put(endUs, null, null);
      break;
    case "model":
      cutModel(role.marks, endUs, put);
      break;
    case "call":
      put(role.firstAttemptUs, role.of === "model" ? "prefill" : "tools", "queue");
      put(role.lastAttemptUs, "orchestration", "back-off");
      if (role.of === "model") put(endUs, "orchestration", "consumer");
      else put(endUs, "tools", null);
  }
}

function cutModel(marks: ModelMarks, endUs: number, put: Put): void {
  const { placeUs, connectedUs, firstUs, lastUs, stallsUs, tailUs } = marks;
  const outputUs = firstUs ?? endUs;
  if (placeUs !== undefined) put(Math.min(placeUs, outputUs), "prefill", "queue");
  if (connectedUs !== undefined) put(Math.min(connectedUs, outputUs), "prefill", "connect");
  if (firstUs === undefined) {
    put(endUs, "unattributed", "not-separable");
    return;
  }
  put(firstUs, "prefill", null);
  const streamedUs = lastUs ?? endUs;
  for (let i = 0; i < stallsUs.length; i += 2) {
    put(Math.min(stallsUs[i]!, streamedUs), "decode", null);
    put(Math.min(stallsUs[i + 1]!, streamedUs), "decode", "stall");
  }
  put(streamedUs, "decode", null);
  if (tailUs !== undefined) {
    put(tailUs[0], "orchestration", "consumer");
    put(tailUs[1], "decode", "tail");
  }
  put(endUs, "orchestration", "consumer");
}
