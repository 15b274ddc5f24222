/** How much of somebody else's code is running, and a way to wait until none is: what was cancelled is seen to end. */
export class OpenWork {
  #open = 0;
  #waiting: (() => void)[] = [];

  get open(): number {
    return this.#open;
  }

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  whenNone(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
