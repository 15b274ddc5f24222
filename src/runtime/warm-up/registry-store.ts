/** Where listings of tools outlive the process; a folder in Node (`FileStore` of `manx/warm-start`), Redis, a bucket. */
export interface RegistryStore {
  /** @returns undefined if there is nothing. */
  get(key: string): Promise<string | undefined>;
  put(key: string, text: string): Promise<void>;
  /** What `get` gave cannot be read: keep it for whoever looks into it, but give it no more. */
  setAside?(key: string): Promise<void>;
}
