/** Decisions without I/O, on an injected clock where they need one. */

export * from "./admission/index.ts";
export * from "./call/index.ts";
export {
  LeastLoad,
  PrefixAffinity,
  type PrefixAffinityOptions,
  ROUTERS,
  RoundRobin,
  type RoutedRequest,
  type Router,
  type RouterName,
} from "./routing/index.ts";
