/** The keys that a configuration names, as they are by now. */
import type { GatewayConfig } from "./config/index.ts";
import { KeyRing, readKeyFile } from "./keys/index.ts";

/** @returns null if whoever comes may call. @throws MANX_FILE_UNREADABLE, MANX_KEY_FILE */
export async function keyRingOf({ keys }: GatewayConfig): Promise<KeyRing | null> {
  if (keys.source === "none") return null;
  return new KeyRing(keys.source === "inline" ? keys.keys : await readKeyFile(keys.path));
}
