/** Even output from a stream that comes in bursts. */
export {
  PLAYOUT,
  Playout,
  type PlayoutForm,
  type PlayoutPolicy,
  type Released,
} from "./playout.ts";
export { cutPlace } from "./text-cut.ts";
