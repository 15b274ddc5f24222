import { type Rails, type Tool, Turn } from "../../../src/runtime/index.ts";

export async function step(
  { tools, rails, request }: { tools: Tool[]; rails: Rails; request: string },
  callModel: (signal: AbortSignal) => Promise<Response>,
  show: (text: string) => void,
) {
  const turn = new Turn({ tools, deadline: "20s" });
  const guarded = turn.guarded("openai-chat", {
    rails,
    request,
    onRelease: (events) => {
      for (const event of events) if (event.type === "text-delta") show(event.text);
    },
  });
  const response = await callModel(guarded.signal);
  for await (const bytes of response.body!) guarded.push(bytes); // with an SDK: guarded.chunk(chunk)
  guarded.end();
  const messages = await guarded.messages(); // once the guard has spoken
  await turn.close();
  return { messages, report: guarded.report };
}
