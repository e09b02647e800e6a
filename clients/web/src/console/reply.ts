/** The replies of the HTTP API by their name in its OpenAPI document. */

import type { components } from "@answerbus/client";

type Schemas = components["schemas"];

/** A reply as it is sent: with every field, also those that have defaults. */
export type Reply<Name extends keyof Schemas> = Sent<Schemas[Name]>;

type Sent<T> = T extends readonly unknown[] | object ? { [Key in keyof T]-?: Sent<Exclude<T[Key], undefined>> } : T;
