/** Decisions without I/O, on an injected clock where they need one. */
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
