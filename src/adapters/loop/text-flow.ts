/**
 * Text from a producer that never waits to a reader that may: a slow reader gets in one piece what came meanwhile. So
 * nothing holds the stream up, and with it the start of a tool, and no more is kept than the text itself. Several readers
 * share it: each piece goes to one of them, and its end to all.
 */
export class TextFlow implements AsyncIterable<string> {
  #pending = "";
  #hasEnded = false;
  #error: unknown;
  #hasFailed = false;
  #waiting: (() => void)[] = [];

  push(text: string): void {
    this.#pending += text;
    this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  fail(error: unknown): void {
    this.#error = error;
    this.#hasFailed = true;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
    for (;;) {
      if (this.#pending !== "") {
        const text = this.#pending;
        this.#pending = "";
        yield text;
      } else if (this.#hasEnded) {
        if (this.#hasFailed) throw this.#error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#waiting.push(resolve);
        });
      }
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
