/** Which machine a URL or an address means, as far as that can be told without asking anybody. */

/** 127.0.0.0/8, ::1 and the names that stand for them (RFC 6761). */
export function isLoopback(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[|\]$/g, "");
  return (
    bare === "localhost" ||
    bare.endsWith(".localhost") ||
    bare === "::1" ||
    /^127(\.\d{1,3}){3}$/.test(bare) ||
    /^::ffff:127\./.test(bare)
  );
}

/** All addresses of this machine at once. */
export function isAnyAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::" || host === "";
}

/** Whether `url` leads to what listens on this address. Misses other names of this machine: those need a look-up. */
export function leadsTo(
  url: URL,
  listen: { readonly host: string; readonly port: number },
): boolean {
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  if (listen.port === 0 || port !== listen.port) return false;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isLoopback(host)) return isLoopback(listen.host) || isAnyAddress(listen.host);
  return host.toLowerCase() === listen.host.toLowerCase() || isAnyAddress(host);
}
