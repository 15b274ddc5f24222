/** What each error looks like when it happens, for docs/errors.md. A code without an example shows its summary alone. */
import type { ErrorCode, ErrorParts } from "../src/core/index.ts";

export const ERROR_EXAMPLES: Readonly<Partial<Record<ErrorCode, ErrorParts>>> = {
  MANX_INTERNAL: { what: "free + held + cached blocks are the pool's: expected 512, got 511" },
  MANX_FLAG_UNKNOWN: {
    where: "manx gateway",
    got: "--upstrem",
    hint: 'did you mean "--upstream"?',
  },
  MANX_FLAG_VALUE: { where: "manx gateway --port", expected: "0 to 65535", got: '"80000"' },
  MANX_FLAG_MISSING: {
    what: "required option '--upstream <url>' not specified",
    where: "manx gateway",
    hint: "run manx gateway --help",
  },
  MANX_COMMAND_UNKNOWN: { got: '"gatway"', hint: 'did you mean "gateway"?' },
  MANX_DURATION: { where: "--slo", expected: "a number with a unit", got: '"800"' },
  MANX_RATE: { where: "--rate", expected: "a number per unit of time", got: '"20"' },
  MANX_NAME_UNKNOWN: {
    what: "unknown GPU",
    expected: "one of the data sheets",
    got: '"h10"',
    hint: 'did you mean "h100"?',
  },
  MANX_CONFIG_IMPOSSIBLE: {
    what: "the weights leave no memory for KV blocks",
    expected: "at most 80 GB of weights",
    got: "140 GB",
  },
  MANX_URL: { where: "--upstream", expected: "an http or https URL", got: '"localhost:8000"' },
  MANX_FILE_UNREADABLE: { where: "traces/monday.csv", got: "ENOENT" },
  MANX_OUTPUT_UNWRITABLE: { where: "out/result.json", got: "EACCES" },
  MANX_TRACE_FORMAT: { where: "traces/monday.txt", got: 'a first line of "hello"' },
  MANX_TRACE_ROWS: {
    where: "traces/monday.csv:17",
    expected: "three columns",
    got: "two; 212 of 19366 rows are malformed (1.1 %)",
  },
  MANX_PORT_IN_USE: { where: "127.0.0.1:8080" },
  MANX_ADDRESS: { where: "192.0.2.1:8080", got: "EADDRNOTAVAIL" },
  MANX_TARGET_DOWN: { where: "http://127.0.0.1:8000", got: "ECONNREFUSED" },
  MANX_UPSTREAM_DOWN: { where: "http://127.0.0.1:8000", got: "ECONNREFUSED" },
  MANX_UPSTREAM_TIMEOUT: {
    where: "http://127.0.0.1:8000",
    expected: "the head of the response within 120 s",
    got: "nothing",
  },
  MANX_STREAM_INCOMPLETE: {
    where: "http://127.0.0.1:8000",
    expected: "data: [DONE]",
    got: "the end of the connection after 41 chunks",
  },
  MANX_BODY_TOO_LARGE: { expected: "at most 33554432 bytes", got: "41000000 bytes" },
  MANX_REQUEST_INVALID: { where: "max_tokens", expected: "a whole number above 0", got: "-1" },
  MANX_REQUEST_NEVER_FITS: {
    expected: "at most 8192 tokens of prompt and output",
    got: "9000 + 512",
  },
  MANX_MODEL_UNKNOWN: { where: "model", expected: "one of llama-3-8b", got: '"llama-3-80b"' },
  MANX_ROUTE_UNKNOWN: { where: "POST /chat/completions", expected: "/v1/chat/completions" },
  MANX_OVERLOADED: { expected: "at most 1024 waiting requests", got: "one more" },
  MANX_NOT_TRUSTWORTHY: {
    what: "the load generator ran late",
    expected: "a lag of at most 8 ms at p99",
    got: "31 ms",
  },
  MANX_BUDGET_BREACHED: { where: "ttft.p99", expected: "at most 800 ms", got: "1.4 s (n 4000)" },
  MANX_INTERRUPTED: { where: "result.json", got: "1812 of 19366 requests" },
};
