/** Where the entities of the picture stand: forces between them, by d3-force; what stands already stays there. */

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationLinkDatum, type SimulationNodeDatum } from "d3-force";
import type { Entity, Relation } from "./types";

/** Steps of the simulation; all are taken at once, so that nothing moves on the screen. */
const STEPS = 250;
const DISTANCE = 170;
const SPACE = 56;

export interface Place {
  x: number;
  y: number;
}

interface Node extends SimulationNodeDatum {
  id: string;
}

/** Places of all entities; those of `before` are kept, and new ones begin beside what they are related to. */
export function places(entities: readonly Entity[], relations: readonly Relation[], before: ReadonlyMap<string, Place>): Map<string, Place> {
  const known = new Set(entities.map((one) => one.id));
  const drawn = relations.filter((one) => known.has(one.subject) && known.has(one.target) && one.subject !== one.target);
  const nodes = entities.map((one): Node => {
    const place = before.get(one.id);
    if (place) return { id: one.id, ...place, fx: place.x, fy: place.y };
    const near = drawn.find((edge) => (edge.subject === one.id && before.has(edge.target)) || (edge.target === one.id && before.has(edge.subject)));
    const beside = near && before.get(near.subject === one.id ? near.target : near.subject);
    // Without a place d3 lays nodes out on a spiral, the same every time.
    return beside ? { id: one.id, x: beside.x * 1.4 + 1, y: beside.y * 1.4 + 1 } : { id: one.id };
  });
  const links = drawn.map((one): SimulationLinkDatum<Node> => ({ source: one.subject, target: one.target }));
  forceSimulation(nodes)
    .force("link", forceLink<Node, SimulationLinkDatum<Node>>(links).id((node) => node.id).distance(DISTANCE))
    .force("charge", forceManyBody().strength(-400))
    .force("apart", forceCollide(SPACE))
    .force("x", forceX(0).strength(0.05))
    .force("y", forceY(0).strength(0.09))
    .stop()
    .tick(STEPS);
  return new Map(nodes.map((one) => [one.id, { x: one.x ?? 0, y: one.y ?? 0 }]));
}
