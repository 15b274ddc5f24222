/** What a warm start needs of Node: files for listings, a pool that keeps its connections. */
export { FileStore } from "./file-store.ts";
export { type WarmPool, type WarmPoolOptions, warmPool } from "./warm-pool.ts";
