/** Worlds that show a symptom, its cause and its cure. */
export { type DemoOptions, runDemo } from "./demo.ts";
