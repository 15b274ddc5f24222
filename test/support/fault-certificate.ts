/**
 * Throw-away certificates for TLS servers of tests, made while they run: X.509 v3 (RFC 5280) in DER (X.690), written by
 * hand since Node signs but makes no certificates. Self-signed, so that each is its own authority.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export interface TestCertificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

export interface CertificateOptions {
  /** Default: 127.0.0.1 as an address and `localhost` as a name. */
  readonly name?: string;
  /** Seconds from now, below 0 for one that is no longer good. Default an hour. */
  readonly goodForS?: number;
}

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;
/** [0] and [3] of a certificate's body: version, extensions. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
/** Kinds of a subject's alternative names. */
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;

/** 1.2.840.10045.4.3.2, 2.5.4.3 and 2.5.29.17, as they are encoded. */
const ECDSA_WITH_SHA256 = der(OBJECT_ID, Buffer.from("2a8648ce3d040302", "hex"));
const COMMON_NAME = der(OBJECT_ID, Buffer.from("550403", "hex"));
const ALTERNATIVE_NAMES = der(OBJECT_ID, Buffer.from("551d11", "hex"));

export function makeCertificate({
  name,
  goodForS = 3_600,
}: CertificateOptions = {}): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const cert = signed(body(publicKey, name, goodForS), privateKey);
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${cert.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  };
}

function body(publicKey: KeyObject, name: string | undefined, goodForS: number): Buffer {
  const nowMs = Date.now();
  const subject = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(name ?? "localhost")))),
  );
  const names =
    name === undefined
      ? [der(IP_ADDRESS, Buffer.from([127, 0, 0, 1])), der(DNS_NAME, Buffer.from("localhost"))]
      : [der(DNS_NAME, Buffer.from(name))];
  const alternatives = der(SEQUENCE, ALTERNATIVE_NAMES, der(OCTET_STRING, der(SEQUENCE, ...names)));
  return der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.from([2]))),
    // A serial number of its own: TLS clients keep what they know of a certificate by issuer and serial.
    der(INTEGER, Buffer.concat([Buffer.from([0x40]), randomBytes(7)])),
    der(SEQUENCE, ECDSA_WITH_SHA256),
    subject,
    der(SEQUENCE, utcTime(nowMs - 2 * 86_400_000), utcTime(nowMs + goodForS * 1_000)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(EXTENSIONS, der(SEQUENCE, alternatives)),
  );
}

function signed(content: Buffer, key: KeyObject): Buffer {
  const signature = sign("sha256", content, key);
  return der(
    SEQUENCE,
    content,
    der(SEQUENCE, ECDSA_WITH_SHA256),
    der(BIT_STRING, Buffer.from([0]), signature),
  );
}

/** YYMMDDHHMMSSZ. */
function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-T:]/g, "").slice(2, 14);
  return der(UTC_TIME, Buffer.from(`${digits}Z`));
}

/** Tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
