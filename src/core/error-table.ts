/**
 * Every error that Manx reports, in one table. A code is stable once released: scripts match on it and docs/errors.md
 * has an anchor for each. `exit` is the process exit code if the error ends a command; `status` the HTTP status if a
 * Manx server answers with it.
 */
export interface ErrorKind {
  readonly summary: string;
  /** 1 internal or of another system, 2 usage, 3 a check that has failed, 4 not trustworthy, 130 interrupted. */
  readonly exit: 1 | 2 | 3 | 4 | 130;
  readonly status?: number;
  /** Printed after `try:` when the place that raised the error gives no better one. */
  readonly hint: string;
}

export const ERROR_TABLE = {
  MANX_INTERNAL: {
    summary: "Manx itself is wrong",
    exit: 1,
    status: 500,
    hint: "please report it with the command line and this message",
  },
  MANX_FLAG_UNKNOWN: { summary: "unknown flag", exit: 2, hint: "run the command with --help" },
  MANX_FLAG_VALUE: {
    summary: "a flag or option has a value that it cannot have",
    exit: 2,
    hint: "run the command with --help",
  },
  MANX_FLAG_MISSING: {
    summary: "a flag or argument that is needed is missing",
    exit: 2,
    hint: "run the command with --help",
  },
  MANX_COMMAND_UNKNOWN: { summary: "unknown command", exit: 2, hint: "run manx --help" },
  MANX_DURATION: {
    summary: "not a duration",
    exit: 2,
    hint: 'write a number with a unit, such as "800ms", "2s" or "5m"',
  },
  MANX_RATE: {
    summary: "not a rate",
    exit: 2,
    hint: 'write a number per unit of time, such as "20/s" or "90/m"',
  },
  MANX_NAME_UNKNOWN: {
    summary: "a name that Manx does not know",
    exit: 2,
    hint: "use one of the supported names",
  },
  MANX_CONFIG_IMPOSSIBLE: {
    summary: "an engine or workload that cannot exist",
    exit: 2,
    hint: "change one of the numbers named above",
  },
  MANX_CONFIG_SYNTAX: {
    summary: "a configuration file cannot be read as JSON with comments",
    exit: 2,
    hint: "mend the line shown; comments and trailing commas are allowed",
  },
  MANX_CONFIG_KEY: {
    summary: "a key that the configuration does not have",
    exit: 2,
    hint: "run manx config schema for all keys",
  },
  MANX_CONFIG_VALUE: {
    summary: "a value that the configuration cannot have",
    exit: 2,
    hint: "run manx config schema for all values",
  },
  MANX_CONFIG_DOUBTFUL: {
    summary: "a configuration that works, but not as it seems to",
    exit: 2,
    hint: "change it, or leave it if it is meant so",
  },
  MANX_SECRET_MISSING: {
    summary: "a secret that the configuration names cannot be read",
    exit: 2,
    hint: "set the variable, or make the file readable for this user",
  },
  MANX_URL: {
    summary: "not a usable URL",
    exit: 2,
    hint: "write scheme, host and port, such as http://127.0.0.1:8000",
  },
  MANX_FILE_UNREADABLE: {
    summary: "a file cannot be read",
    exit: 2,
    hint: "check the path and its permissions",
  },
  MANX_OUTPUT_UNWRITABLE: {
    summary: "an output file cannot be written",
    exit: 2,
    hint: "choose another path with --output",
  },
  MANX_LOG_UNWRITABLE: {
    summary: "the access log cannot be written; requests go on, lines are dropped and counted",
    exit: 2,
    hint: "make room, or let this user write there; it is tried again by itself",
  },
  MANX_TRACES_UNSENT: {
    summary: "traces cannot be sent; requests go on, traces are dropped and counted",
    exit: 4,
    hint: "check otlp.url and that a collector takes OTLP over HTTP there",
  },
  MANX_TRACE_FORMAT: {
    summary: "a trace is in no format that Manx knows",
    exit: 2,
    hint: "give an Azure LLM CSV or a Mooncake JSONL file, plain or gzipped",
  },
  MANX_TRACE_ROWS: {
    summary: "too many malformed rows in a trace",
    exit: 2,
    hint: "mend the rows named above; up to 1 % are set aside and counted",
  },
  MANX_TABLE_FORMAT: {
    summary: "a table of measurements cannot be used",
    exit: 2,
    hint: "give the table with the columns named above, one number in each cell",
  },
  MANX_RESULT_FORMAT: {
    summary: "a file is no result document that this version can read",
    exit: 2,
    hint: "give a file that --output or --json of this version has written",
  },
  MANX_PORT_IN_USE: {
    summary: "the address is already in use",
    exit: 2,
    hint: "stop the other process or choose another --port",
  },
  MANX_ADDRESS: {
    summary: "the address cannot be listened on",
    exit: 2,
    hint: "choose another --host or --port",
  },
  MANX_TARGET_DOWN: {
    summary: "the server under test does not answer",
    exit: 4,
    hint: "start it, or check host and port",
  },
  MANX_UPSTREAM_DOWN: {
    summary: "the upstream cannot be reached",
    exit: 1,
    status: 502,
    hint: "start it, or check --upstream",
  },
  MANX_UPSTREAM_TIMEOUT: {
    summary: "the upstream went silent for longer than its limit",
    exit: 1,
    status: 504,
    hint: "raise the limit of the named phase, or look at the upstream",
  },
  MANX_STREAM_INCOMPLETE: {
    summary: "the upstream ended a response before it was complete",
    exit: 1,
    status: 502,
    hint: "the text so far is not a whole answer; the call may be repeated",
  },
  MANX_BODY_TOO_LARGE: {
    summary: "a request body is over the limit",
    exit: 2,
    status: 413,
    hint: "send less, or raise the server's body limit",
  },
  MANX_REQUEST_INVALID: {
    summary: "a request is malformed",
    exit: 2,
    status: 400,
    hint: "compare it with the API reference",
  },
  MANX_REQUEST_ENCODED: {
    summary: "a request body is compressed",
    exit: 2,
    status: 415,
    hint: "send it without Content-Encoding",
  },
  MANX_TRANSLATE_FIELD: {
    summary: "a request holds something that the upstream's API has no equal for",
    exit: 2,
    status: 400,
    hint: "leave the named field out, or send the call to a model whose API has it",
  },
  MANX_TRANSLATE_ANSWER: {
    summary: "the upstream's answer cannot be put into the caller's format",
    exit: 1,
    status: 502,
    hint: "repeat the call; if it stays, the upstream does not speak the format it is configured for",
  },
  MANX_REQUEST_NEVER_FITS: {
    summary: "a request that this engine can never hold",
    exit: 2,
    status: 400,
    hint: "shorten the prompt or lower max_tokens",
  },
  MANX_UNAUTHENTICATED: {
    summary: "the call has no valid key",
    exit: 2,
    status: 401,
    hint: "send the key that the gateway's operator gave you, as a bearer token or in x-api-key",
  },
  MANX_FORBIDDEN: {
    summary: "the key is valid, but not for this",
    exit: 2,
    status: 403,
    hint: "ask the gateway's operator",
  },
  MANX_BUDGET_SPENT: {
    summary: "the key's budget for this day or month is spent",
    exit: 1,
    status: 429,
    hint: "wait for the next period, or ask the gateway's operator for more",
  },
  MANX_KEY_UNKNOWN: {
    summary: "the key file has no such key",
    exit: 2,
    hint: "run manx gateway key list",
  },
  MANX_KEY_FILE: {
    summary: "a key file cannot be used",
    exit: 2,
    hint: "restore it, or make a new one with manx gateway key create",
  },
  MANX_SPENT_FILE: {
    summary: "the file of what keys have spent cannot be used",
    exit: 2,
    hint: "restore it, or remove it to let all budgets begin anew",
  },
  MANX_WORKER: {
    summary: "a worker process of the gateway has ended or does not answer",
    exit: 1,
    status: 503,
    hint: "see what it has said on stderr",
  },
  MANX_STATE_AWAY: {
    summary:
      "the state that gateways share does not answer; each goes by its own share of the limits",
    exit: 1,
    hint: "see whether the server of gateway.state runs; the gateway comes back to it by itself",
  },
  MANX_MODEL_UNKNOWN: {
    summary: "this server does not serve the model",
    exit: 2,
    status: 404,
    hint: "use a model that GET /v1/models lists",
  },
  MANX_ROUTE_UNKNOWN: {
    summary: "no such path on this server",
    exit: 2,
    status: 404,
    hint: "check the base URL",
  },
  MANX_OVERLOADED: {
    summary: "the server has as much work as it accepts",
    exit: 1,
    status: 429,
    hint: "wait for the time in Retry-After",
  },
  MANX_RATE_LIMITED: {
    summary: "a tenant has used up a limit of its own",
    exit: 1,
    status: 429,
    hint: "wait for the time in Retry-After, or ask for a higher limit",
  },
  MANX_GUARD_REFUSED: {
    summary: "a guardrail has refused the call",
    exit: 1,
    status: 400,
    hint: "change what the named guardrail objects to; the same call will be refused again",
  },
  MANX_GUARD_FAILED: {
    summary: "a guardrail could not answer, and is set to refuse then",
    exit: 1,
    status: 503,
    hint: "repeat the call; its operator can look at the guardrail or set onFailure to open",
  },
  MANX_NO_TARGET: {
    summary: "no target of the model can take the call now",
    exit: 1,
    status: 503,
    hint: "wait for the time in Retry-After, or give the model another target",
  },
  MANX_DEADLINE: {
    summary: "the call's deadline has passed",
    exit: 1,
    status: 504,
    hint: "give the call more time, or the model a faster target",
  },
  MANX_TOOL_INVALID: {
    summary: "a tool, or a rule for running tools, that cannot be",
    exit: 2,
    hint: "see docs/how-to/tools-and-dispatch.md",
  },
  MANX_GRAPH_INVALID: {
    summary: "tasks that can never all run",
    exit: 2,
    hint: "take the need away that is named above",
  },
  MANX_RAIL_INVALID: {
    summary: "a guardrail, or a playout, that cannot be",
    exit: 2,
    hint: "see docs/how-to/guardrails-in-process.md",
  },
  MANX_FAN_OUT_FAILED: {
    summary: "a fan-out has no result",
    exit: 1,
    hint: "see the cause; make branches optional that the result can do without",
  },
  MANX_WARM_UP_INVALID: {
    summary: "start-up work, or a store for its results, that cannot be",
    exit: 2,
    hint: "see docs/how-to/warm-up.md",
  },
  MANX_NOT_WARM: {
    summary: "something that a call needs is not there and could not be made",
    exit: 1,
    status: 503,
    hint: "report() of the warm-up says what has failed; it is tried again by itself",
  },
  MANX_SCHEMA_INVALID: {
    summary: "a JSON Schema that cannot be compiled ahead",
    exit: 2,
    hint: "mend the schema; everything that it refers to has to stand in it",
  },
  MANX_VALIDATORS_STALE: {
    summary: "compiled validators do not match their schemas any more",
    exit: 3,
    hint: "run manx precompile again without --check",
  },
  MANX_PREFETCH_MODEL: {
    summary: "a learnt model for prefetching that cannot be read",
    exit: 2,
    hint: "learn it again with Prefetcher.learn of this version",
  },
  MANX_UPSTREAM_ERROR: {
    summary: "the upstream has answered with an error",
    exit: 1,
    status: 502,
    hint: "see the upstream's own message",
  },
  MANX_DRAINING: {
    summary: "the server is shutting down",
    exit: 1,
    status: 503,
    hint: "repeat the call; another instance will take it",
  },
  MANX_NOT_TRUSTWORTHY: {
    summary: "the measurement cannot carry a verdict",
    exit: 4,
    hint: "lower the rate, lengthen the run, or look at the named cause",
  },
  MANX_BUDGET_BREACHED: {
    summary: "a latency budget is breached",
    exit: 3,
    hint: "look at the rows marked in the result",
  },
  MANX_SIM_STUCK: {
    summary: "nothing is left to happen in the simulated world, and the work has not ended",
    exit: 1,
    hint: "give the world's clock to all that waits, and let nothing wait for a socket, a file or the real time",
  },
  MANX_INTERRUPTED: {
    summary: "interrupted; the partial result is saved",
    exit: 130,
    hint: "run it again without interrupting for a whole result",
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_TABLE;
