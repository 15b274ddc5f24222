/** What the messages and plans of a turn share. */
import type { OpenSpan } from "../trace/index.ts";
import type { AskedCalls } from "./asked-calls.ts";
import type { AdmissibleCall, Admission, CallEvent } from "./call-event.ts";
import type { RunScope } from "./call-run.ts";
import type { TurnPrefetch } from "./prefetch/turn-prefetch.ts";
import type { RunShelf } from "./run-shelf.ts";
import type { ToolBox } from "./tool-box.ts";

export interface DispatchScope extends RunScope {
  readonly tools: ToolBox;
  readonly shelf: RunShelf;
  /** What the turn's spans hang on; `NO_SPAN` if it is not recorded. */
  readonly trace: OpenSpan;
  readonly asked: AskedCalls;
  readonly admit: ((call: AdmissibleCall) => Admission | Promise<Admission>) | undefined;
  readonly observe: ((event: CallEvent) => void) | undefined;
  readonly prefetch: TurnPrefetch | undefined;
}
