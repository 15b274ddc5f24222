/** Worlds that show a symptom, its cause and its cure. */
export { type DemoOptions, hourLadder, runDemo } from "./demo.ts";
