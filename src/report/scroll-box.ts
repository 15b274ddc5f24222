/** What may be wider than the page scrolls in a box of its own, which a keyboard reaches and a screen reader names. */
import { html, type Markup } from "./markup.ts";

export function scrollBox(label: string, content: Markup): Markup {
  return html`<div class="wide" role="region" aria-label="${label}" tabindex="0">${content}</div>`;
}
