/** Where names become addresses: this machine's own way, and DNS for how long that holds. */
import { promises as dns, type LookupAddress } from "node:dns";

export interface NameRecord {
  readonly address: string;
  readonly ttlS: number;
}

export interface NameService {
  /** As every program here resolves: hosts file, search domains, whatever the system has. Rejects with Node's error. */
  lookup(host: string): Promise<readonly LookupAddress[]>;
  /** What DNS says, with how long it holds; empty if it says nothing. Never rejects. */
  records(host: string): Promise<readonly NameRecord[]>;
  /** Asks no more: what is under way would keep the process. */
  close(): void;
}

/** DNS alone knows how long an answer holds, and does not know the hosts file: so both are asked. */
export class SystemNames implements NameService {
  readonly #resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });

  lookup(host: string): Promise<readonly LookupAddress[]> {
    return dns.lookup(host, { all: true, verbatim: true });
  }

  async records(host: string): Promise<readonly NameRecord[]> {
    const answers = await Promise.allSettled([
      this.#resolver.resolve4(host, { ttl: true }),
      this.#resolver.resolve6(host, { ttl: true }),
    ]);
    const found = answers.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    return found.map(({ address, ttl }) => ({ address, ttlS: ttl }));
  }

  close(): void {
    this.#resolver.cancel();
  }
}
