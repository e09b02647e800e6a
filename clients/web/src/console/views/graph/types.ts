/** What the routes of the graph reply. */

export const KINDS = ["concept", "technology", "person", "organization", "framework", "pattern", "other"] as const;
export type Kind = (typeof KINDS)[number];
export type RelationKind = "uses" | "depends_on" | "extends" | "implements" | "part_of" | "related_to";

export interface Entity {
  id: string;
  name: string;
  kind: Kind;
  passages: number;
}

export interface ProvingPassage {
  id: string;
  source: string;
  text: string;
  title: string;
  url: string;
}

export interface Relation {
  subject: string;
  kind: RelationKind;
  target: string;
  sources: string[];
  stated: number;
  passages: ProvingPassage[];
}

export interface EntitiesPage {
  entities: Entity[];
  relations: Relation[];
  after: number;
}

export interface EntityPage extends EntitiesPage {
  entity: Entity;
  passages: ProvingPassage[];
}

/** What names a relation: its ends and its kind. */
export function keyOf(relation: Relation): string {
  return `${relation.subject}\n${relation.kind}\n${relation.target}`;
}
