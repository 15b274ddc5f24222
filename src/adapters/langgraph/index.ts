/** `manx/langgraph`: for LangGraph.js; a node that runs tools, and callbacks that have them start early. */
export { type ManxCallbacks, manxCallbacks } from "./manx-callbacks.ts";
export {
  manxToolNode,
  type NodeConfig,
  type ToolMessage,
  type ToolNodeOptions,
} from "./tool-node.ts";
