/**
 * For `wrapLanguageModel({ model, middleware: manxMiddleware(turn) })`: shows the model's stream to the turn while the AI SDK
 * reads it, so that tools of `manxTools` run from the last brace of their arguments on, and not when the message is over.
 * What passes is not changed.
 */
import type { Turn } from "../../runtime/index.ts";
import { type Part, PartFeeder } from "./part-feeder.ts";

/** Parts that are read ahead of whoever reads the answer, so that a slow reader holds no tool up. */
const AHEAD_PARTS_MAX = 256;

interface CallParams {
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

interface StreamCall<Result> {
  readonly doStream: () => PromiseLike<Result>;
  readonly params: CallParams;
  readonly model: { readonly modelId: string };
}

interface GenerateCall<Result> {
  readonly doGenerate: () => PromiseLike<Result>;
  readonly params: CallParams;
  readonly model: { readonly modelId: string };
}

/** The part of `LanguageModelV3Middleware` that is used. */
export interface ManxMiddleware {
  readonly specificationVersion: "v3";
  /** Puts the turn's deadline and its trace into the request's headers. */
  readonly transformParams: <Params extends CallParams>(call: {
    readonly params: Params;
    readonly model: { readonly modelId: string };
  }) => Promise<Params>;
  readonly wrapStream: <Result extends { readonly stream: ReadableStream }>(
    call: StreamCall<Result>,
  ) => Promise<Result>;
  readonly wrapGenerate: <Result extends Generated>(call: GenerateCall<Result>) => Promise<Result>;
}

interface Generated {
  readonly content: readonly object[];
  readonly finishReason: unknown;
}

/** @param turn or where to find it, for a model that is wrapped once and used by many turns; none leaves the call alone. */
export function manxMiddleware(turn: Turn | (() => Turn | undefined)): ManxMiddleware {
  const current = typeof turn === "function" ? turn : () => turn;
  /** Of calls whose request has been made and not yet sent. */
  const feeders = new WeakMap<object, PartFeeder>();
  const feederOf = (params: object, modelId: string): PartFeeder | undefined => {
    const known = feeders.get(params);
    const now = known === undefined ? current() : undefined;
    return now === undefined ? known : new PartFeeder(now, modelId);
  };
  return {
    specificationVersion: "v3",
    transformParams: async ({ params, model }) => {
      const now = current();
      if (now === undefined) return params;
      const feeder = new PartFeeder(now, model.modelId);
      const next = { ...params, headers: { ...params.headers, ...feeder.headers() } };
      feeders.set(next, feeder);
      return next;
    },
    wrapStream: async ({ doStream, params, model }) => {
      const feeder = feederOf(params, model.modelId);
      if (feeder === undefined) return doStream();
      const result = await orEnd(feeder, doStream);
      return { ...result, stream: shownTo(feeder, result.stream, params.abortSignal) };
    },
    wrapGenerate: async ({ doGenerate, params, model }) => {
      const feeder = feederOf(params, model.modelId);
      if (feeder === undefined) return doGenerate();
      const result = await orEnd(feeder, doGenerate);
      for (const part of result.content) feeder.take(part as Part);
      feeder.take({ type: "finish", finishReason: result.finishReason });
      return result;
    },
  };
}

async function orEnd<Result>(feeder: PartFeeder, ask: () => PromiseLike<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    feeder.end();
    throw error;
  }
}

function shownTo(
  feeder: PartFeeder,
  stream: ReadableStream<Part>,
  signal: AbortSignal | undefined,
): ReadableStream<Part> {
  const reader = stream.getReader();
  const onAbort = (): void => feeder.abort();
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  // Its tools may outlast the message.
  void feeder.settled().then(() => signal?.removeEventListener("abort", onAbort));
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            feeder.end();
            controller.close();
            return;
          }
          feeder.take(value);
          controller.enqueue(value);
        } catch (error) {
          feeder.end();
          controller.error(error);
          // Of one that has failed by itself there is nothing to leave.
          reader.cancel(error).catch(() => {});
        }
      },
      async cancel(reason) {
        feeder.cancel();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: AHEAD_PARTS_MAX },
  );
}
