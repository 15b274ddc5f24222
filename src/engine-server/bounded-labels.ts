/**
 * Names that clients choose, as label values: the first few are themselves, all later ones are one. Without it, whoever can
 * send a header can fill the memory of this server and of the Prometheus that reads it.
 */
export const OTHER_LABEL = "(other)";

export class BoundedLabels {
  readonly #namesMax: number;
  readonly #seen = new Set<string>();

  constructor(namesMax: number) {
    this.#namesMax = namesMax;
  }

  labelOf(name: string): string {
    if (this.#seen.has(name)) return name;
    if (this.#seen.size >= this.#namesMax) return OTHER_LABEL;
    this.#seen.add(name);
    return name;
  }
}
