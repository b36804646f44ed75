/** How a client proves who it is: a token, a certificate; and when it may send them. */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { TLS_SCHEME } from "./address.js";
import { InsecureConnection } from "./errors.js";

const TOKEN = /^ttn_[0-9A-Za-z]{43}$/;
const BYTES_MAX = 1024 * 1024;

/** What is said about who calls; each `undefined`: the environment's, an empty text: without. */
export interface Proof {
  /** `ttn_` and 43 letters and digits, as `totonoe tokens create` prints it. Else `TOTONOE_TOKEN`. */
  token?: string | undefined;
  /** File in PEM: the authority of the daemon's certificate. Else `TOTONOE_CA`. */
  ca?: string | undefined;
  /** File in PEM: the client's own certificate. Else `TOTONOE_CERT`. */
  cert?: string | undefined;
  /** File in PEM: the key of `cert`. Else `TOTONOE_KEY`. */
  key?: string | undefined;
}

/** A token, and what a connection with TLS needs. */
export interface Credentials {
  token: string;
  ca?: Buffer | undefined;
  cert?: Buffer | undefined;
  key?: Buffer | undefined;
}

/**
 * Credentials of what was given, else of the environment.
 *
 * @throws InsecureConnection if the token would go over plain TCP to another machine.
 * @throws RangeError if the token has another form, or a file cannot be read or is not for this address.
 */
export function credentialsFor(address: string, proof: Proof): Credentials {
  const token = said("token", proof.token, "TOTONOE_TOKEN").trim();
  // Without what was got: it may be a token that lost a character.
  if (token && !TOKEN.test(token)) throw new RangeError("token: allowed: `ttn_` and 43 letters and digits");
  if (address.startsWith(TLS_SCHEME)) {
    const ca = file("ca", said("ca", proof.ca, "TOTONOE_CA"));
    const cert = file("cert", said("cert", proof.cert, "TOTONOE_CERT"));
    const key = file("key", said("key", proof.key, "TOTONOE_KEY"));
    if ((cert === undefined) !== (key === undefined)) throw new RangeError("cert and key: give both, or neither");
    return { token, ca, cert, key };
  }
  for (const name of ["ca", "cert", "key"] as const) {
    if (proof[name]) throw new RangeError(`${name}: needs an address of the form https://host:port`);
  }
  if (token && !staysHere(address)) {
    throw new InsecureConnection(
      `a token is not sent to ${address} over plain TCP, where others can read it: ` +
        `give the address as ${TLS_SCHEME}${address}`,
    );
  }
  return { token };
}

function said(name: string, given: string | undefined, variable: string): string {
  if (given !== undefined && typeof given !== "string") {
    throw new TypeError(`${name}: got a ${typeof given}, allowed: a string`);
  }
  return given ?? process.env[variable] ?? "";
}

/** Whether nothing that is sent to a plain address leaves this machine. */
function staysHere(address: string): boolean {
  if (address.startsWith("unix:")) return true;
  const host = address.slice(0, address.lastIndexOf(":")).replace(/^\[|\]$/g, "");
  if (isIP(host) === 4) return host.startsWith("127.");
  return host === "::1" || host === "localhost";
}

function file(name: string, path: string): Buffer | undefined {
  if (!path) return undefined;
  let data: Buffer;
  try {
    data = readFileSync(path);
  } catch (error) {
    throw new RangeError(`${name}: ${path}: ${(error as NodeJS.ErrnoException).code ?? "cannot be read"}`);
  }
  if (data.length > BYTES_MAX || !data.includes("-----BEGIN")) {
    throw new RangeError(`${name}: ${path}: no file in PEM`);
  }
  return data;
}
