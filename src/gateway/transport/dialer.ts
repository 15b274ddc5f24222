/**
 * Opens sockets to one origin, name to handshake, and says what each stage took. Node's own order of the stages is kept:
 * addresses of both families are tried in turn (RFC 8305), each for ADDRESS_LIMIT_MS but the last, which may take whatever
 * its caller allows.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import type { Cancel, Clock } from "../../clock/index.ts";
import type { ConnectionMarks, WireProtocol } from "./connection-marks.ts";
import type { Addresses } from "./dns-cache.ts";
import type { Network } from "./network.ts";
import { TicketCache, type TlsTrust } from "./ticket-cache.ts";

export interface DialerOptions {
  readonly origin: URL;
  readonly network: Network;
  readonly clock: Clock;
  readonly tls: TlsTrust;
}

export interface Dialed {
  readonly socket: Socket;
  readonly marks: ConnectionMarks;
}

type Done = (error: Error | null, dialed: Dialed | undefined) => void;

/** Node gives an address 250 ms, which half the world's links come close to. */
const ADDRESS_LIMIT_MS = 500;
/** As undici sets it: between the idle limits of balancers, so that a dead peer is noticed. */
const TCP_KEEP_ALIVE_MS = 60_000;
const TCP_READ_BYTES = 64 * 1024;
const TLS_READ_BYTES = 16 * 1024;

export class Dialer {
  readonly #options: DialerOptions;
  readonly #hostname: string;
  /** Of the origin's TLS sessions. */
  readonly ticketKey: string;
  readonly isSecure: boolean;

  constructor(options: DialerOptions) {
    const { origin, tls } = options;
    this.#options = options;
    this.#hostname = origin.hostname.replace(/^\[(.*)\]$/, "$1");
    this.ticketKey = TicketCache.keyOf(origin, tls);
    this.isSecure = origin.protocol === "https:";
  }

  /** @param offersH2 in the TLS handshake; the upstream chooses. @returns gives it up: `done` is not called any more. */
  dial(offersH2: boolean, done: Done): Cancel {
    const { clock, network } = this.#options;
    let isOver = false;
    let socket: Socket | undefined;
    const finish: Done = (error, dialed) => {
      if (isOver) return;
      isOver = true;
      done(error, dialed);
    };
    const startUs = clock.nowUs();
    /** @param addresses none if the host is one. */
    const connect = (error: Error | null, addresses: Addresses): void => {
      if (isOver) return;
      if (error !== null) finish(error, undefined);
      else socket = this.#connect({ addresses, offersH2, startUs }, finish);
    };
    const cancelLookup =
      isIP(this.#hostname) === 0 ? network.dns.resolve(this.#hostname, connect) : undefined;
    if (cancelLookup === undefined) connect(null, []);
    return () => {
      isOver = true;
      cancelLookup?.();
      socket?.destroy();
    };
  }

  #connect(way: { addresses: Addresses; offersH2: boolean; startUs: number }, done: Done): Socket {
    const { clock } = this.#options;
    const resolvedUs = clock.nowUs();
    let connectedUs = resolvedUs;
    const socket = this.isSecure
      ? this.#secure(way.addresses, way.offersH2)
      : this.#plain(way.addresses);
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS).setNoDelay(true);
    this.#watchAddresses(socket);
    socket.once("connect", () => {
      connectedUs = clock.nowUs();
    });
    const onError = (error: Error): void => {
      // A session that the upstream cannot bear must not fail the next handshake too.
      if (this.isSecure && connectedUs > resolvedUs) {
        this.#options.network.tickets.delete(this.ticketKey);
      }
      done(error, undefined);
    };
    socket.once("error", onError);
    socket.once(this.isSecure ? "secureConnect" : "connect", () => {
      socket.off("error", onError);
      const marks: ConnectionMarks = {
        reuse: this.isSecure && (socket as TLSSocket).isSessionReused() ? "resumed" : "new",
        protocol: this.#protocolOf(socket),
        dnsUs: way.addresses.length === 0 ? 0 : resolvedUs - way.startUs,
        tcpUs: connectedUs - resolvedUs,
        tlsUs: this.isSecure ? clock.nowUs() - connectedUs : 0,
      };
      done(null, { socket, marks });
    });
    return socket;
  }

  #target(addresses: Addresses) {
    const { origin } = this.#options;
    return {
      host: this.#hostname,
      port: Number(origin.port) || (this.isSecure ? 443 : 80),
      lookup: lookupOf(addresses),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_LIMIT_MS,
    };
  }

  #plain(addresses: Addresses): Socket {
    // Node's types leave the mark out.
    const options = { ...this.#target(addresses), highWaterMark: TCP_READ_BYTES };
    return connectTcp(options);
  }

  #secure(addresses: Addresses, offersH2: boolean): TLSSocket {
    const { tls, network } = this.#options;
    const session = network.tickets.get(this.ticketKey);
    const options: ConnectionOptions & { highWaterMark: number } = {
      ...this.#target(addresses),
      ALPNProtocols: offersH2 ? ["h2", "http/1.1"] : ["http/1.1"],
      highWaterMark: TLS_READ_BYTES,
      ...(tls.ca !== undefined && { ca: tls.ca }),
      ...(session !== undefined && { session }),
    };
    // The name is checked against the certificate; an address must not be sent as one (RFC 6066, 3).
    const name = tls.servername ?? (isIP(this.#hostname) === 0 ? this.#hostname : undefined);
    if (name !== undefined) options.servername = name;
    const socket = connectTls(options);
    socket.on("session", (fresh: Buffer) => network.tickets.set(this.ticketKey, fresh));
    return socket;
  }

  #protocolOf(socket: Socket): WireProtocol {
    return this.isSecure && (socket as TLSSocket).alpnProtocol === "h2" ? "h2" : "http/1.1";
  }

  #watchAddresses(socket: Socket): void {
    const { dns } = this.#options.network;
    const noteDead = (address: string): void => dns.noteDead(this.#hostname, address);
    socket.on("connectionAttemptFailed", noteDead);
    socket.on("connectionAttemptTimeout", noteDead);
    socket.once("connect", () => {
      if (socket.remoteAddress !== undefined) dns.noteAlive(this.#hostname, socket.remoteAddress);
    });
  }
}

/** What has been resolved already, in the form in which `net` asks for it. */
function lookupOf(addresses: Addresses): LookupFunction {
  return (_host, options, callback) => {
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, addresses[0]!.address, addresses[0]!.family);
  };
}
