/**
 * What a `fetch` that rejects means. Only the code of what was thrown is told: a message may hold a URL with its key, or a
 * header. Without a code nobody knows whether the request had arrived, so it counts as cut off.
 */
import { ManxError } from "../../core/index.ts";
import { type FailureKind, incompleteError } from "../../policy/index.ts";

export interface Fault {
  readonly kind: FailureKind;
  readonly error: ManxError;
}

/** No connection: nothing was sent. */
const CONNECT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_\w+|ERR_SSL_\w+|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+)$/;
const GARBAGE =
  /^(?:HPE_\w+|UND_ERR_(?:REQ|RES)_CONTENT_LENGTH_MISMATCH|UND_ERR_HEADERS_OVERFLOW|Z_\w+)$/;
/** This process has nothing left to open a connection with. */
const LOCAL = /^(?:EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)$/;
/** Causes of causes that are looked at. */
const DEPTH_MAX = 4;

/** @param where the origin; it holds no credentials. */
export function faultBeforeHead(thrown: unknown, where: string): Fault {
  const code = codeOf(thrown);
  const got = code ?? nameOf(thrown);
  if (code !== undefined && LOCAL.test(code)) {
    return { kind: "local", error: new ManxError("MANX_OVERLOADED", { where, got }) };
  }
  const kind = code === undefined ? "cut" : CONNECT.test(code) ? "connect" : kindAfterSending(code);
  // The SDK shows its user nothing but this sentence, and there is no flag to look at.
  const hint = `see whether ${where} runs, and whether baseURL is right`;
  return { kind, error: new ManxError("MANX_UPSTREAM_DOWN", { where, got, hint }) };
}

export function faultAfterHead(thrown: unknown): Fault {
  const code = codeOf(thrown);
  return {
    kind: code === undefined ? "cut" : kindAfterSending(code),
    error: incompleteError(code ?? nameOf(thrown)),
  };
}

/** What came is no answer of a model. */
export function garbageFault(got: string, where: string): Fault {
  return { kind: "garbage", error: new ManxError("MANX_UPSTREAM_DOWN", { where, got }) };
}

function kindAfterSending(code: string): FailureKind {
  return GARBAGE.test(code) ? "garbage" : "cut";
}

function codeOf(thrown: unknown): string | undefined {
  let at = thrown;
  for (let depth = 0; depth < DEPTH_MAX; depth += 1) {
    if (typeof at !== "object" || at === null) return undefined;
    const { code, cause, errors } = at as { code?: unknown; cause?: unknown; errors?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
    at = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return undefined;
}

function nameOf(thrown: unknown): string {
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  return /^\w{1,60}$/.test(name) ? name : "an error";
}
