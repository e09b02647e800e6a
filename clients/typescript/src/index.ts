export * from "./client.js";
export * from "./errors.js";
export type * from "./events.js";
export type { components, operations, paths } from "./schema.js";
export { AnswerStream, type StreamOptions } from "./stream.js";
