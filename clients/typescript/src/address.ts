/** Where the daemon is, in the same order as every client of totonoe looks for it. */

import { lstatSync } from "node:fs";
import { connect } from "node:net";
import { homedir, platform } from "node:os";
import { join } from "node:path";
import { PLACES_MAX } from "./places.js";

export const DEFAULT_ADDRESS = "127.0.0.1:7766";
export const TLS_SCHEME = "https://";
const SOCKET_NAME = "totonoe.sock";
const PROBE_MS = 1_000;
const HOST_PORT = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):([0-9]{1,5})$/;

/**
 * The addresses that are given: of a text with commas each one, else the one that is given or the
 * environment's; `undefined`: neither says one. Several are of daemons that share a store.
 * `TOTONOE_ADDRESS` names one daemon: of several, which are its own, the first is taken.
 *
 * @throws RangeError if one is not `host:port`, `[ipv6]:port`, `https://host:port` or `unix:/path`, one
 *   is there twice, or there are more than 16.
 */
export function givenAddresses(address: string | undefined): readonly string[] | undefined {
  if (typeof address !== "string" || !address.includes(",")) {
    const one = givenAddress(address);
    return one === undefined ? undefined : [one];
  }
  const parts = address.split(",").map((part) => part.trim());
  if (parts.length > PLACES_MAX || new Set(parts).size < parts.length || parts.includes("")) {
    throw new RangeError(
      `address: got ${parts.length} addresses, allowed: 1 to ${PLACES_MAX} different ones, with commas`,
    );
  }
  return parts.map((part) => givenAddress(part) as string);
}

/** One address that is given, else the environment's; `undefined`: neither says one. Throws RangeError. */
function givenAddress(address: string | undefined): string | undefined {
  if (address !== undefined && typeof address !== "string") {
    throw new TypeError(`address: got a ${typeof address}, allowed: a string`);
  }
  // The daemon reads the same variable, and may listen on several addresses: the first will do.
  const listening = (process.env["TOTONOE_ADDRESS"] ?? "").split(",")[0]?.trim();
  const chosen = address || listening;
  if (!chosen) return undefined;
  if (chosen.startsWith("unix:") && chosen.length > "unix:".length) return chosen;
  const match = HOST_PORT.exec(chosen.startsWith(TLS_SCHEME) ? chosen.slice(TLS_SCHEME.length) : chosen);
  const port = Number(match?.[2]);
  if (!(port >= 1 && port <= 65_535)) {
    throw new RangeError(
      `address: got ${JSON.stringify(chosen)}, allowed: host:port, https://host:port or unix:/path`,
    );
  }
  return chosen;
}

/** The Unix socket of this user's daemon where one answers, else a loopback port. */
export async function defaultAddress(): Promise<string> {
  const path = join(defaultDataDir(), SOCKET_NAME);
  try {
    const found = lstatSync(path);
    // Another user's socket would be given what is meant for this user's daemon.
    if (!found.isSocket() || found.uid !== process.getuid?.()) return DEFAULT_ADDRESS;
  } catch {
    return DEFAULT_ADDRESS;
  }
  return (await answers(path)) ? `unix:${path}` : DEFAULT_ADDRESS;
}

/** Whether somebody takes connections at a socket. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    const end = (found: boolean) => {
      probe.destroy();
      resolve(found);
    };
    probe.setTimeout(PROBE_MS, () => end(false));
    probe.once("connect", () => end(true));
    probe.once("error", () => end(false));
  });
}

/** The data directory of a daemon that was started without options. */
function defaultDataDir(): string {
  if (platform() === "darwin") return join(homedir(), "Library", "Application Support", "totonoe");
  const state = (process.env["XDG_STATE_HOME"] ?? "").trim();
  return join(state || join(homedir(), ".local", "state"), "totonoe");
}
