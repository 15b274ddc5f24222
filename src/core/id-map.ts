/**
 * What is open now, by a number: entries that come and go thousands of times a second.
 *
 * A `Map` or `Set` is wrong for that in V8. Each time it runs out of room it moves to a new table, and the old one keeps
 * what it held and a link to the new one, for iterators that are under way. Once an old table has reached the old
 * generation, every later one is reachable from garbage, and with it whatever was open at the time: a young collection
 * then copies all of it, and keeps it until the next full one. Of a gateway under load that was each request, whole, and
 * four milliseconds in place of one for each collection.
 *
 * So this is a table of its own: open addressing, linear probing, and deletion that moves entries back instead of leaving
 * marks. A freed place holds nothing, and a table that was outgrown is not linked to its successor.
 *
 * Bounded by its user: it has at most `size` × 8 places, or PLACES_MIN.
 */
import { assert } from "./assert.ts";

const PLACES_MIN = 64;

export class IdMap<Value> {
  #ids = new Float64Array(0);
  /** undefined: the place is free. */
  #values: (Value | undefined)[] = [];
  #size = 0;

  constructor() {
    // Not at once in the fields: V8 takes what was set only once for constant, and drops the code that relies on it when
    // the table first grows.
    this.#resize(PLACES_MIN);
  }

  get size(): number {
    return this.#size;
  }

  get(id: number): Value | undefined {
    return this.#values[this.#find(id)];
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  /** @param id an integer from 0. @param value anything but undefined. */
  set(id: number, value: Value): void {
    assert(Number.isSafeInteger(id) && id >= 0, "an id is an integer from 0");
    assert(value !== undefined, "undefined stands for no value");
    const at = this.#find(id);
    if (this.#values[at] === undefined) this.#size += 1;
    this.#ids[at] = id;
    this.#values[at] = value;
    if (this.#size * 2 > this.#values.length) this.#resize(this.#values.length * 2);
  }

  /** @returns whether it was there. */
  delete(id: number): boolean {
    const at = this.#find(id);
    if (this.#values[at] === undefined) return false;
    this.#size -= 1;
    this.#free(at);
    const places = this.#values.length;
    if (places > PLACES_MIN && this.#size * 8 < places) this.#resize(places / 2);
    return true;
  }

  /** In no order. What is set or deleted meanwhile is not seen. */
  values(): readonly Value[] {
    return this.#values.filter((value) => value !== undefined) as Value[];
  }

  /** @returns its place, or the free one where it would go. */
  #find(id: number): number {
    const values = this.#values;
    const mask = values.length - 1;
    let at = id & mask;
    while (values[at] !== undefined && this.#ids[at] !== id) at = (at + 1) & mask;
    return at;
  }

  /** Those behind it that would stand nearer to their own place move up, so that no search ends too early. */
  #free(place: number): void {
    const values = this.#values;
    const mask = values.length - 1;
    let hole = place;
    for (let at = (hole + 1) & mask; values[at] !== undefined; at = (at + 1) & mask) {
      const home = this.#ids[at]! & mask;
      const isBehindHole = ((at - home) & mask) >= ((at - hole) & mask);
      if (!isBehindHole) continue;
      this.#ids[hole] = this.#ids[at]!;
      values[hole] = values[at];
      hole = at;
    }
    values[hole] = undefined;
  }

  #resize(places: number): void {
    const ids = this.#ids;
    const values = this.#values;
    this.#ids = new Float64Array(places);
    this.#values = emptyPlaces(places);
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at];
      if (value === undefined) continue;
      const place = this.#find(ids[at]!);
      this.#ids[place] = ids[at]!;
      this.#values[place] = value;
      // An outgrown table may outlive this moment in the old generation.
      values[at] = undefined;
    }
  }
}

/** Without holes, so that V8 keeps it as a plain array. */
function emptyPlaces(places: number): undefined[] {
  return new Array<undefined>(places).fill(undefined);
}
