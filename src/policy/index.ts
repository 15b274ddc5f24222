/** Decisions without I/O, on an injected clock where they need one. */

export * from "./admission/index.ts";
export * from "./call/index.ts";
export * from "./guard/index.ts";
export * from "./join/index.ts";
export * from "./playout/index.ts";
export * from "./prefetch/index.ts";
export * from "./prompt-layout/index.ts";
export * from "./routing/index.ts";
