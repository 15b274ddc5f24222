/** What a translation could not carry over as it was. Nothing is dropped or changed without a note. */

export interface TranslationNote {
  /** Path in the caller's body, such as `messages[2].content[0].cache_control`; repeats of one path name it once. */
  readonly field: string;
  readonly action: "dropped" | "changed" | "added";
  /** A clause without a full stop. */
  readonly reason: string;
}

/** A body can hold a hundred thousand messages; its notes are for a log line. */
const NOTES_MAX = 64;

export class Notes {
  readonly #notes = new Map<string, TranslationNote>();

  dropped(field: string, reason: string): void {
    this.#add({ field, action: "dropped", reason });
  }

  changed(field: string, reason: string): void {
    this.#add({ field, action: "changed", reason });
  }

  added(field: string, reason: string): void {
    this.#add({ field, action: "added", reason });
  }

  /** At most 64; of the same kind of place the first one stands for all. */
  get list(): readonly TranslationNote[] {
    return [...this.#notes.values()];
  }

  #add(note: TranslationNote): void {
    const key = `${note.action} ${note.field.replace(/\[\d+\]/g, "[]")}`;
    if (this.#notes.size < NOTES_MAX && !this.#notes.has(key)) this.#notes.set(key, note);
  }
}
