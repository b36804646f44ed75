/** The connection to one daemon, made at the first call. */

import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { connect } from "node:net";
import { DEFAULT_ADDRESS, defaultAddress, givenAddress, TLS_SCHEME } from "./address.js";
import { credentialsFor, type Credentials, type Proof } from "./credentials.js";
import { ClientClosed } from "./errors.js";

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
// The daemon accepts pings every 10 s.
const PING_INTERVAL_MS = 30_000;
const PING_TIMEOUT_MS = 10_000;

interface Opened {
  address: string;
  transport: Transport;
  session?: Http2SessionManager;
}

/** A transport that finds its daemon at the first call, and says clearly when it was closed. */
export class Connection implements Transport {
  readonly #given: string | undefined;
  readonly #credentials: Credentials | undefined;
  readonly #own: Transport | undefined;
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;
  #closed = false;

  /** Throws as `givenAddress` and `credentialsFor` do. Nothing is sent. */
  constructor(address: string | undefined, proof: Proof, transport: Transport | undefined) {
    this.#own = transport;
    if (transport !== undefined) return;
    this.#given = givenAddress(address);
    // What is looked for where none is given never leaves this machine either.
    this.#credentials = credentialsFor(this.#given ?? DEFAULT_ADDRESS, proof);
  }

  /** Where the daemon is; empty before the first call if it is still to be looked for. */
  get address(): string {
    return this.#opened?.address ?? this.#given ?? "";
  }

  get closed(): boolean {
    return this.#closed;
  }

  unary: Transport["unary"] = async (...call) => (await this.#open()).transport.unary(...call);

  stream: Transport["stream"] = async (...call) => (await this.#open()).transport.stream(...call);

  /** Ends the connection and its calls. Safe to call twice. */
  close(): void {
    this.#closed = true;
    this.#opened?.session?.abort();
  }

  async #open(): Promise<Opened> {
    if (this.#closed) throw new ClientClosed();
    this.#opening ??= this.#make();
    this.#opened = await this.#opening;
    if (this.#closed) throw new ClientClosed();
    return this.#opened;
  }

  async #make(): Promise<Opened> {
    if (this.#own !== undefined) return { address: "the given transport", transport: this.#own };
    const address = this.#given ?? (await defaultAddress());
    const { token, ...files } = this.#credentials ?? { token: "" };
    const secure = address.startsWith(TLS_SCHEME);
    const path = address.startsWith("unix:") ? address.slice("unix:".length) : undefined;
    const baseUrl = secure ? address : path === undefined ? `http://${address}` : "http://localhost";
    const nodeOptions = path === undefined ? (secure ? files : {}) : { createConnection: () => connect(path) };
    const session = new Http2SessionManager(
      baseUrl,
      { pingIntervalMs: PING_INTERVAL_MS, pingTimeoutMs: PING_TIMEOUT_MS },
      nodeOptions,
    );
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
}

function withToken(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}
