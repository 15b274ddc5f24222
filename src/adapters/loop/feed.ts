/** The one piece for who has a loop of their own: an SDK's stream into a step, so that tools start at the brace. */
import type { Step } from "../../runtime/index.ts";
import type { StreamEvent } from "../../stream/index.ts";

/**
 * @param stream what the SDK answers: its chunks or events, parsed.
 * @param look shown what each chunk says, such as text for a user. What it throws ends the step and is thrown on.
 * @returns when the stream has ended; `step.messages()` has the results then.
 * @throws what the stream throws; the step has ended by then, and what began early is taken back.
 */
export async function feed(
  step: Step,
  stream: AsyncIterable<object>,
  look?: (events: readonly StreamEvent[]) => void,
): Promise<void> {
  try {
    for await (const chunk of stream) {
      const events = step.chunk(chunk);
      look?.(events);
    }
  } finally {
    const events = step.end();
    if (events.length > 0) look?.(events);
  }
}
