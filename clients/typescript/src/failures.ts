/** Failed calls and failed items of the wire, as errors of `./errors.js`. */

import { Code, ConnectError } from "@connectrpc/connect";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { ItemError } from "../gen/totonoe/v1/memory_service_pb.js";
import { build, HandshakeFailed, TotonoeError, Unreachable } from "./errors.js";

const DOMAIN = "totonoe.v1";
// As Node names what goes wrong before a TLS connection is up.
const HANDSHAKE = /^(ERR_SSL_|ERR_TLS_|CERT_|CRL_|EPROTO$|HOSTNAME_MISMATCH$)|CERT|SIGNATURE|ISSUER/;

/** The error for what a transport rejected with. */
export function fromCall(error: unknown, address: string): TotonoeError {
  if (error instanceof TotonoeError) return error;
  const failed = ConnectError.from(error);
  const { reason, details, retryDelayMs } = richDetails(failed);
  const code = codeName(failed.code);
  // What the daemon answers carries a status; without one the connection itself failed.
  const answered = reason !== "" || failed.metadata.has("grpc-status");
  if (failed.code === Code.DeadlineExceeded && reason === "") {
    return build(failed.rawMessage, { code, reason: "DEADLINE_PASSED" });
  }
  const broken = [Code.Unavailable, Code.Internal, Code.Aborted, Code.Unknown, Code.Canceled];
  if (!answered && broken.includes(failed.code)) return unconnected(failed, address);
  if (failed.code === Code.Unavailable && reason === "") return unconnected(failed, address);
  return build(failed.rawMessage, { code, reason, details, retryDelayMs });
}

function unconnected(failed: ConnectError, address: string): TotonoeError {
  const failure = { code: "UNAVAILABLE", details: { address }, cause: failed };
  if (nodeCodes(failed).some((one) => HANDSHAKE.test(one))) {
    return new HandshakeFailed(
      `no TLS connection to ${address}: check the address, the authority (TOTONOE_CA) and ` +
        `the client's certificate (TOTONOE_CERT, TOTONOE_KEY) (${failed.rawMessage})`,
      failure,
    );
  }
  // After the handshake of TLS 1.3 a daemon that refuses a certificate just hangs up.
  const orRefused = address.startsWith("https:") ? " (or it refuses this client's certificate)" : "";
  return new Unreachable(
    `no daemon answers at ${address}${orRefused}; start one with \`totonoe serve\`, or ` +
      `say where it is with TOTONOE_ADDRESS (${failed.rawMessage})`,
    failure,
  );
}

/** The codes of Node in an error and what caused it. */
function nodeCodes(error: unknown): string[] {
  const codes: string[] = [];
  for (let one = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth += 1) {
    const { code } = one as { code?: unknown };
    if (typeof code === "string") codes.push(code);
  }
  return codes;
}

/** The error for one failed item of a stream. */
export function fromItem(item: ItemError): TotonoeError {
  return build(item.message || item.reason, {
    code: codeName(item.code),
    reason: item.reason,
    details: item.details,
    retryDelayMs: delayOf(item.details),
  });
}

function codeName(code: number): string {
  // The protocol writes CANCELLED, the library Canceled.
  if (code === Code.Canceled) return "CANCELLED";
  const name = Code[code];
  return name === undefined ? "UNKNOWN" : name.replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase();
}

interface RichDetails {
  reason: string;
  details: Record<string, string>;
  retryDelayMs: number | undefined;
}

/** Reason, details and retry delay; empty where the answer carries none. */
function richDetails(failed: ConnectError): RichDetails {
  const found: RichDetails = { reason: "", details: {}, retryDelayMs: undefined };
  for (const packed of failed.details) {
    if (!("type" in packed)) continue;
    try {
      if (packed.type === "google.rpc.ErrorInfo") {
        const info = readErrorInfo(packed.value);
        if (info.domain === DOMAIN) Object.assign(found, { reason: info.reason, details: info.metadata });
      } else if (packed.type === "google.rpc.RetryInfo") {
        found.retryDelayMs = readRetryInfo(packed.value);
      }
    } catch {
      // Something on the way cut the details: the code still holds.
    }
  }
  found.retryDelayMs ??= delayOf(found.details);
  return found;
}

function delayOf(details: Readonly<Record<string, string>>): number | undefined {
  const delay = Number.parseFloat(details["retry_delay_ms"] ?? "");
  return Number.isFinite(delay) ? Math.max(0, delay) : undefined;
}

// The two messages of google/rpc/error_details.proto that the daemon sends, read by field number.

function readErrorInfo(bytes: Uint8Array): { reason: string; domain: string; metadata: Record<string, string> } {
  const info = { reason: "", domain: "", metadata: {} as Record<string, string> };
  eachField(bytes, (number, reader) => {
    if (number === 1) info.reason = reader.string();
    else if (number === 2) info.domain = reader.string();
    else if (number === 3) {
      let key = "";
      let value = "";
      eachField(reader.bytes(), (part, inner) => {
        if (part === 1) key = inner.string();
        else if (part === 2) value = inner.string();
        else return false;
        return true;
      });
      info.metadata[key] = value;
    } else return false;
    return true;
  });
  return info;
}

function readRetryInfo(bytes: Uint8Array): number {
  let delayMs = 0;
  eachField(bytes, (number, reader) => {
    if (number !== 1) return false;
    eachField(reader.bytes(), (part, inner) => {
      if (part === 1) delayMs += Number(inner.int64()) * 1_000;
      else if (part === 2) delayMs += inner.int32() / 1e6;
      else return false;
      return true;
    });
    return true;
  });
  return Math.max(0, delayMs);
}

/** Calls `take` for each field; one that it does not take is passed over. */
function eachField(bytes: Uint8Array, take: (number: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (!take(number, reader)) reader.skip(wireType, number);
  }
}
