import { defineConfig } from "vitest/config";

// Two workers: the reference machine has two cores, and live tests must not starve each other.
export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
