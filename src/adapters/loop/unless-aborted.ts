/** Waits for somebody else's work, or for a signal, whichever is first: who ignores its signal holds nobody up. */

/** @throws what the work rejects with; the signal's reason. What still runs then is left alone, however it ends. */
export async function unlessAborted<Value>(
  work: PromiseLike<Value>,
  signal: AbortSignal,
): Promise<Value> {
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** What is read until the signal aborts. Its source is left then, and not waited for. @throws the signal's reason */
export async function* readUnlessAborted<Item>(
  source: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item, void> {
  const reads = source[Symbol.asyncIterator]();
  let hasEnded = false;
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reads.next(), signal);
      hasEnded = done === true;
      if (done === true) return;
      yield value;
    }
  } finally {
    if (!hasEnded) leave(reads);
  }
}

/** It may hang until its source does. */
function leave(reads: AsyncIterator<unknown>): void {
  Promise.resolve()
    .then(() => reads.return?.())
    .catch(() => {});
}
