/** The forms in which people write values, as zod types: what the folders with a section build their schemas from. */
import { z } from "zod";

/** `"800ms"`; read with `parseDurationUs`. */
export const duration = z
  .string()
  .regex(
    /^\s*(\d+(\.\d+)?|\.\d+)\s*(us|µs|ms|s|m|min|h)\s*$/i,
    'a duration such as "800ms", "2s" or "5m"',
  );

/** `"32MiB"`; read with `parseSizeBytes`. */
export const size = z
  .string()
  .regex(/^\s*(\d+(\.\d+)?|\.\d+)\s*(b|kib|mib|gib)\s*$/i, 'a size such as "32MiB" or "512KiB"');

/** A share of a whole: 0.05 is 5 %. */
export const share = z.number().min(0).max(1);

/** A name in a configuration: short, and nothing that a log or a metric label would have to escape. */
export const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][\w.:@/-]{0,99}$/,
    "a name of letters, digits and . _ : @ / -, at most 100 long",
  );

/** `env:NAME`, `file:PATH`, or the secret itself. Masked wherever the configuration is shown. */
export const secret = z
  .string()
  .min(1)
  .max(8_192)
  .meta({ writeOnly: true, description: "env:NAME, file:PATH, or the secret itself" });
