/** Ranks on one host and on several: links, the price of all-reduces, and what crossing hosts loses. */
export { type CrossHostLoss, crossHostLoss, type HostLayout } from "./cross-host.ts";
export { findLink, LINK_NAMES, type Link, type LinkName } from "./links.ts";
