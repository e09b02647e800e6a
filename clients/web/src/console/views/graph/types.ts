/** What the routes of the graph reply. */

import type { Reply } from "../../reply";

export type Entity = Reply<"GraphEntity">;
export type Kind = Entity["kind"];
export const KINDS: readonly Kind[] = ["concept", "technology", "person", "organization", "framework", "pattern", "other"];
export type Relation = Reply<"GraphRelation">;
export type RelationKind = Relation["kind"];
export type ProvingPassage = Reply<"GraphPassage">;
export type EntitiesPage = Reply<"GraphEntitiesReply">;
export type EntityPage = Reply<"GraphEntityReply">;

/** What names a relation: its ends and its kind. */
export function keyOf(relation: Relation): string {
  return `${relation.subject}\n${relation.kind}\n${relation.target}`;
}
