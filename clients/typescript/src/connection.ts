/** The connection to one daemon, or to several that share a store; made at the first call. */

import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { connect } from "node:net";
import { DEFAULT_ADDRESS, defaultAddress, givenAddresses, TLS_SCHEME } from "./address.js";
import { credentialsFor, type Credentials, type Proof } from "./credentials.js";
import { ClientClosed } from "./errors.js";
import { Places } from "./places.js";

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
// The daemon accepts pings every 10 s.
const OF_ONE = { pingIntervalMs: 30_000, pingTimeoutMs: 10_000 };
// Of several daemons one that does not answer is left for another one soon: within the 30 s of a call.
const OF_SEVERAL = { pingIntervalMs: 12_000, pingTimeoutMs: 5_000, connectTimeoutMs: 2_000 };

interface Opened {
  address: string;
  transport: Transport;
  session?: Http2SessionManager;
}

/**
 * A transport that finds its daemons at the first call, and says clearly when it was closed. A call goes
 * to the next of several daemons, unless it says to which.
 */
export class Connection implements Transport {
  /** The daemons by their numbers. */
  readonly places: Places;
  readonly #daemons: readonly Daemon[];
  #closed = false;

  /** Throws as `givenAddresses` and `credentialsFor` do. Nothing is sent. */
  constructor(address: string | undefined, proof: Proof, transport: Transport | undefined) {
    if (transport !== undefined) {
      this.#daemons = [new Daemon(undefined, { address: "the given transport", transport })];
    } else {
      const given = givenAddresses(address) ?? [undefined];
      const waits = given.length > 1 ? OF_SEVERAL : OF_ONE;
      this.#daemons = given.map((one) => {
        // What is looked for where none is given never leaves this machine either.
        const credentials = credentialsFor(one ?? DEFAULT_ADDRESS, proof);
        return new Daemon(one, () => dialled(one, credentials, waits));
      });
    }
    this.places = new Places(this.#daemons.length);
  }

  /** Where the daemons are, with commas; empty before the first call if one is still to be looked for. */
  get address(): string {
    return this.#daemons.map((daemon) => daemon.address).join(",");
  }

  get closed(): boolean {
    return this.#closed;
  }

  unary: Transport["unary"] = async (...call) => (await this.at(this.places.pick())).unary(...call);

  stream: Transport["stream"] = async (...call) => (await this.at(this.places.pick())).stream(...call);

  /** What carries the calls to one of the daemons. Rejects with `ClientClosed`. */
  async at(place: number): Promise<Transport> {
    if (this.#closed) throw new ClientClosed();
    const transport = await (this.#daemons[place] as Daemon).open();
    if (this.#closed) throw new ClientClosed();
    return transport;
  }

  /** Ends the connection and its calls. Safe to call twice. */
  close(): void {
    this.#closed = true;
    for (const daemon of this.#daemons) daemon.close();
  }
}

/** The way to one daemon. */
class Daemon {
  readonly #given: string | undefined;
  readonly #make: () => Promise<Opened>;
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;

  constructor(given: string | undefined, made: Opened | (() => Promise<Opened>)) {
    this.#given = given;
    this.#make = typeof made === "function" ? made : async () => made;
  }

  get address(): string {
    return this.#opened?.address ?? this.#given ?? "";
  }

  async open(): Promise<Transport> {
    this.#opening ??= this.#make();
    this.#opened = await this.#opening;
    return this.#opened.transport;
  }

  close(): void {
    this.#opened?.session?.abort();
  }
}

/** A transport to an address, or to where this user's daemon is. */
async function dialled(
  given: string | undefined,
  { token, ...files }: Credentials,
  waits: typeof OF_ONE,
): Promise<Opened> {
  const address = given ?? (await defaultAddress());
  const secure = address.startsWith(TLS_SCHEME);
  const path = address.startsWith("unix:") ? address.slice("unix:".length) : undefined;
  const baseUrl = secure ? address : path === undefined ? `http://${address}` : "http://localhost";
  const nodeOptions = path === undefined ? (secure ? files : {}) : { createConnection: () => connect(path) };
  const session = new Http2SessionManager(baseUrl, waits, nodeOptions);
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager: session,
    interceptors: token ? [withToken(token)] : [],
    readMaxBytes: MESSAGE_BYTES_MAX,
    writeMaxBytes: MESSAGE_BYTES_MAX,
    // A daemon is near: what is packed and unpacked costs more than what is sent.
    acceptCompression: [],
  });
  return { address, transport, session };
}

function withToken(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}
