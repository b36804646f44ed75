/** The package as its users import it. */

export * as errors from "totonoe";
export { Totonoe } from "totonoe";
