/** A command of the memory tool that was not carried out; the model reads the message. */
export class MemoryToolError extends Error {
  override name = "MemoryToolError";
}
