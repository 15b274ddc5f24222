/**
 * What is to happen at an instant, soonest first, from which anything can be taken out again: of the timers of a gateway
 * nearly none ever fires. A binary heap ordered by (time, sequence) in which each alarm knows its place.
 */
export interface Alarm {
  readonly atUs: number;
  /** Of alarms for one instant the lower goes first. */
  readonly sequence: number;
  readonly run: () => void;
  /** In the heap; NOWHERE outside. The heap's own. */
  place: number;
}

export const NOWHERE = -1;

export class AlarmHeap {
  readonly #alarms: Alarm[] = [];

  get size(): number {
    return this.#alarms.length;
  }

  peek(): Alarm | undefined {
    return this.#alarms[0];
  }

  push(alarm: Alarm): void {
    this.#alarms.push(alarm);
    this.#rise(alarm, this.#alarms.length - 1);
  }

  /** Nothing happens if it is not in here. */
  remove(alarm: Alarm): void {
    const { place } = alarm;
    if (place === NOWHERE) return;
    alarm.place = NOWHERE;
    const last = this.#alarms.pop()!;
    if (last === alarm) return;
    // It comes from another branch, and may belong above this place as well as below.
    this.#sink(last, place);
    this.#rise(last, last.place);
  }

  #rise(alarm: Alarm, from: number): void {
    const alarms = this.#alarms;
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = alarms[parent]!;
      if (!isBefore(alarm, above)) break;
      this.#put(above, place);
      place = parent;
    }
    this.#put(alarm, place);
  }

  #sink(alarm: Alarm, from: number): void {
    const alarms = this.#alarms;
    let place = from;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= alarms.length) break;
      if (child + 1 < alarms.length && isBefore(alarms[child + 1]!, alarms[child]!)) child += 1;
      if (!isBefore(alarms[child]!, alarm)) break;
      this.#put(alarms[child]!, place);
      place = child;
    }
    this.#put(alarm, place);
  }

  #put(alarm: Alarm, place: number): void {
    this.#alarms[place] = alarm;
    alarm.place = place;
  }
}

function isBefore(a: Alarm, b: Alarm): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.sequence < b.sequence);
}
