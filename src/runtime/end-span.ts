/** The end of somebody's code as the end of its span. */
import type { OpenSpan } from "../trace/index.ts";
import type { Ending } from "./execution.ts";

export function endSpan(span: OpenSpan, ending: Ending): void {
  switch (ending.kind) {
    case "value":
      span.end("ok");
      return;
    case "threw":
      span.fail(ending.error);
      return;
    case "timeout":
      span.set("error.type", "timeout");
      span.end("error");
      return;
    case "cancelled":
      span.end("cancelled");
  }
}
