/**
 * Messages of the wire and plain objects, matched by the names of their fields.
 *
 * | on the wire | in an object |
 * |---|---|
 * | number, bool, string | the same |
 * | int64 | number, checked against 2^53 |
 * | enum | its word: lower case, without the prefix; `"unknown"` if the daemon is newer |
 * | Timestamp | `Date` |
 * | Struct | JSON object |
 * | bytes | `Float32Array` for a vector, else hex digits |
 * | message, repeated, map | object, array, object |
 * | absent, or an enum's 0 | left out |
 */

import { create, fromJson, ScalarType } from "@bufbuild/protobuf";
import type { DescEnum, DescField, DescMessage, JsonObject, JsonValue, Message } from "@bufbuild/protobuf";
import type { FieldMask, Timestamp, Value as WireValue } from "@bufbuild/protobuf/wkt";
import { timestampDate, timestampFromDate, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Internal } from "./errors.js";
import type { WordOf } from "./words.js";

const INT32_MAX = 2 ** 31 - 1;

// -- types

type Unnamed<K> = K extends "$typeName" | "$unknown" ? never : K;

// A number may be put where an enum is wanted, so that `number extends T` holds for an enum too.
type IsNumber<T> = (<X>() => X extends T ? 1 : 2) extends <X>() => X extends number ? 1 : 2 ? true : false;

type Read<T, K> = T extends undefined
  ? undefined
  : T extends Uint8Array
    ? K extends "vector"
      ? Float32Array | undefined
      : string
    : T extends bigint
      ? number
      : T extends string | boolean
        ? T
        : T extends number
          ? IsNumber<T> extends true
            ? number
            : WordOf<T> | "unknown" | undefined
          : T extends Timestamp
            ? Date
            : T extends readonly (infer U)[]
              ? Exclude<Read<U, K>, undefined>[]
              : T extends Message
                ? Plain<T>
                : T extends JsonObject
                  ? T
                  : T extends Readonly<Record<string, infer U>>
                    ? Record<string, Exclude<Read<U, K>, undefined>>
                    : never;

/** A message as a plain object. */
export type Plain<T> = { [K in keyof T as Unnamed<K>]: Read<T[K], K> };

type Written<T> = T extends undefined
  ? undefined
  : T extends Uint8Array
    ? Float32Array | readonly number[]
    : T extends bigint
      ? number
      : T extends string | boolean
        ? T
        : T extends number
          ? IsNumber<T> extends true
            ? number
            : WordOf<T>
          : T extends Timestamp
            ? Date
            : T extends WireValue
              ? JsonValue
              : T extends readonly (infer U)[]
                ? readonly Exclude<Written<U>, undefined>[]
                : T extends Message
                  ? Fields<T>
                  : T extends JsonObject
                    ? T
                    : T extends Readonly<Record<string, infer U>>
                      ? Readonly<Record<string, Exclude<Written<U>, undefined>>>
                      : never;

/** The fields of a message as they may be given; each may be left out. */
export type Fields<T> = { [K in keyof T as Unnamed<K>]?: Written<T[K]> | undefined };

// -- reading

type Bag = Record<string, unknown>;

/** The plain object of a message. Of a oneof, the member that is set is a field of it. */
export function read<T extends Message>(desc: DescMessage, message: T): Plain<T> {
  const held = message as unknown as Bag;
  const plain: Bag = {};
  for (const field of desc.fields) {
    let value: unknown;
    if (field.oneof === undefined) {
      value = held[field.localName];
    } else {
      const chosen = held[field.oneof.localName] as { case?: string; value?: unknown };
      value = chosen.case === field.localName ? chosen.value : undefined;
    }
    const made = value === undefined ? undefined : readField(field, value);
    if (made !== undefined) plain[field.localName] = made;
  }
  return plain as Plain<T>;
}

function readField(field: DescField, value: unknown): unknown {
  switch (field.fieldKind) {
    case "scalar":
      return readScalar(field, value);
    case "enum":
      return value === 0 ? undefined : wordOf(field.enum, value as number);
    case "message":
      return readMessage(field.message, value);
    case "list": {
      const items = value as unknown[];
      if (field.listKind === "message") return items.map((one) => readMessage(field.message, one));
      if (field.listKind === "enum") return items.map((one) => wordOf(field.enum, one as number));
      return items.map((one) => readScalar(field, one));
    }
    case "map": {
      const entries = Object.entries(value as Bag);
      const { mapKind } = field;
      if (mapKind === "message") {
        return Object.fromEntries(entries.map(([key, one]) => [key, readMessage(field.message, one)]));
      }
      return Object.fromEntries(entries.map(([key, one]) => [key, readScalar(field, one)]));
    }
  }
}

function readScalar(field: DescField, value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) {
      throw new Internal(`${field.localName}: a number over 2^53 in an answer`, { code: "INTERNAL" });
    }
    return number;
  }
  if (!(value instanceof Uint8Array)) return value;
  if (field.localName !== "vector") return Buffer.from(value).toString("hex");
  return value.length === 0 ? undefined : readVector(value);
}

function readVector(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.length >> 2 }, (_, index) => view.getFloat32(4 * index, true));
}

function readMessage(desc: DescMessage, value: unknown): unknown {
  // The library keeps a Struct as its JSON object already.
  if (desc.typeName === "google.protobuf.Struct") return value;
  if (desc.typeName === "google.protobuf.Timestamp") return timestampDate(value as Timestamp);
  return read(desc, value as Message);
}

function wordOf(desc: DescEnum, number: number): string {
  const found = number === 0 ? undefined : desc.value[number];
  return found === undefined ? "unknown" : found.localName.toLowerCase();
}

// -- writing

/**
 * The message of named values. `undefined` and `null` leave a field out.
 *
 * @throws TypeError if a name is unknown or a value has the wrong type.
 * @throws RangeError if a word, number, date or text cannot be sent.
 */
export function write(desc: DescMessage, values: object, path = ""): Message {
  const init: Bag = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue;
    const field = Object.hasOwn(desc.field, name) ? desc.field[name] : undefined;
    if (field === undefined) {
      const allowed = desc.fields.map((one) => one.localName).join(", ");
      throw new TypeError(`${path}${name}: no such option, allowed: ${allowed}`);
    }
    const made = writeField(field, value, `${path}${name}`);
    if (field.oneof === undefined) init[name] = made;
    else init[field.oneof.localName] = { case: name, value: made };
  }
  return create(desc, init as never) as Message;
}

function writeField(field: DescField, value: unknown, path: string): unknown {
  switch (field.fieldKind) {
    case "scalar":
      return writeScalar(field.scalar, value, path);
    case "enum":
      return numberOf(field.enum, value, path);
    case "message":
      return writeMessage(field.message, value, path);
    case "list": {
      if (!Array.isArray(value)) throw wrong(path, value, "an array");
      return value.map((one: unknown, index) => {
        const place = `${path}[${index}]`;
        if (field.listKind === "message") return writeMessage(field.message, one, place);
        if (field.listKind === "enum") return numberOf(field.enum, one, place);
        return writeScalar(field.scalar, one, place);
      });
    }
    case "map": {
      if (!isObject(value)) throw wrong(path, value, "an object");
      const { mapKind } = field;
      if (mapKind !== "scalar") throw new TypeError(`${path}: cannot be sent`);
      return Object.fromEntries(
        Object.entries(value).map(([key, one]) => [key, writeScalar(field.scalar, one, `${path}.${key}`)]),
      );
    }
  }
}

function writeScalar(scalar: ScalarType, value: unknown, path: string): unknown {
  switch (scalar) {
    case ScalarType.STRING:
      if (typeof value !== "string") throw wrong(path, value, "a string");
      if (!value.isWellFormed()) throw new RangeError(`${path}: got half a character, allowed: whole ones`);
      return value;
    case ScalarType.BOOL:
      if (typeof value !== "boolean") throw wrong(path, value, "a boolean");
      return value;
    case ScalarType.BYTES:
      return writeVector(value, path);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      if (typeof value !== "number") throw wrong(path, value, "a number");
      return value;
    default: {
      if (typeof value !== "number") throw wrong(path, value, "a whole number");
      const wide = scalar === ScalarType.INT64 || scalar === ScalarType.UINT64;
      if (!Number.isSafeInteger(value) || (!wide && Math.abs(value) > INT32_MAX)) {
        throw new RangeError(`${path}: got ${value}, allowed: whole numbers up to ${wide ? "2^53" : "2^31"}`);
      }
      return wide ? BigInt(value) : value;
    }
  }
}

function writeVector(value: unknown, path: string): Uint8Array {
  if (!(value instanceof Float32Array) && !Array.isArray(value)) throw wrong(path, value, "a Float32Array or numbers");
  if (value.length === 0) throw new RangeError(`${path}: got no numbers, allowed: at least one`);
  const bytes = new Uint8Array(4 * value.length);
  const view = new DataView(bytes.buffer);
  value.forEach((one: unknown, index: number) => {
    if (typeof one !== "number") throw wrong(`${path}[${index}]`, one, "a number");
    view.setFloat32(4 * index, one, true);
  });
  return bytes;
}

function writeMessage(desc: DescMessage, value: unknown, path: string): unknown {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      if (!(value instanceof Date)) throw wrong(path, value, "a Date");
      if (Number.isNaN(value.getTime())) throw new RangeError(`${path}: got an invalid Date`);
      return timestampFromDate(value);
    case "google.protobuf.Struct":
      if (!isObject(value)) throw wrong(path, value, "a JSON object");
      return json(value, path, 0);
    case "google.protobuf.Value":
      return fromJson(ValueSchema, json(value, path, 0));
    case "google.protobuf.FieldMask":
      return { paths: (value as FieldMask).paths };
    default:
      if (!isObject(value)) throw wrong(path, value, "an object");
      return write(desc, value, `${path}.`);
  }
}

// Far more than the daemon takes (8); a ring of objects ends here too.
const DEPTH_MAX = 64;

/** A JSON value, checked: what JSON cannot say is refused and not left out. */
function json(value: unknown, path: string, depth: number): JsonValue {
  if (depth > DEPTH_MAX) throw new RangeError(`${path}: nested too deep, allowed: ${DEPTH_MAX} levels`);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return writeScalar(ScalarType.STRING, value, path) as string;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new RangeError(`${path}: got ${value}, allowed: finite numbers`);
    return value;
  }
  if (Array.isArray(value)) return value.map((one, index) => json(one, `${path}[${index}]`, depth + 1));
  if (!isObject(value)) throw wrong(path, value, "a JSON value");
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, json(one, `${path}.${key}`, depth + 1)]),
  );
}

function numberOf(desc: DescEnum, value: unknown, path: string): number {
  const known = desc.values.filter((one) => one.number !== 0);
  if (typeof value !== "string") throw wrong(path, value, "a word");
  const found = known.find((one) => one.localName.toLowerCase() === value);
  if (found === undefined) {
    const allowed = known.map((one) => one.localName.toLowerCase()).join(", ");
    throw new RangeError(`${path}: got ${JSON.stringify(value)}, allowed: ${allowed}`);
  }
  return found.number;
}

function isObject(value: unknown): value is Bag {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function wrong(path: string, value: unknown, allowed: string): TypeError {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return new TypeError(`${path}: got ${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}, allowed: ${allowed}`);
}
