/** The picture of the graph: entities that are chosen and expanded by mouse or keyboard, relations as arrows. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../../../components/icons";
import type { Place } from "./layout";
import type { GraphTexts } from "./texts";
import { keyOf, type Entity, type Relation } from "./types";

/** Around the outermost entities, for their names. */
const MARGIN = 90;
const SMALLEST = 480;
/** A name is cut after so many letters; the whole one is in the lists. */
const LETTERS = 24;
const RADIUS = { least: 9, most: 20 };

interface Props {
  entities: readonly Entity[];
  relations: readonly Relation[];
  places: ReadonlyMap<string, Place>;
  expanded: ReadonlySet<string>;
  /** The id of an entity, or the key of a relation. */
  chosen: string;
  texts: GraphTexts;
  choose: (entity: Entity) => void;
  chooseRelation: (relation: Relation) => void;
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function Picture({ entities, relations, places, expanded, chosen, texts, choose, chooseRelation }: Props) {
  const [focused, setFocused] = useState("");
  const [zoom, setZoom] = useState(1);
  const [shift, setShift] = useState<Place>({ x: 0, y: 0 });
  const svg = useRef<SVGSVGElement>(null);
  const dragged = useRef<{ x: number; y: number; shift: Place } | null>(null);
  const whole = useMemo(() => boxOf(places), [places]);
  const box = zoomed(whole, zoom, shift);
  const reachable = places.has(focused) ? focused : (entities[0]?.id ?? "");

  const move = (event: KeyboardEvent, from: string): void => {
    const direction = DIRECTIONS[event.key];
    const next = direction && nearest(from, direction, places);
    if (!direction) return;
    event.preventDefault();
    if (next) setFocused(next);
  };
  useEffect(() => {
    if (focused && svg.current?.contains(document.activeElement)) {
      svg.current.querySelector<SVGGElement>(`[data-entity="${CSS.escape(focused)}"]`)?.focus();
    }
  }, [focused]);

  const scale = (): number => box.width / (svg.current?.clientWidth || box.width);
  const grab = (event: PointerEvent): void => {
    if (event.target === svg.current) dragged.current = { x: event.clientX, y: event.clientY, shift };
  };
  const drag = (event: PointerEvent): void => {
    const from = dragged.current;
    if (from) setShift({ x: from.shift.x - (event.clientX - from.x) * scale(), y: from.shift.y - (event.clientY - from.y) * scale() });
  };
  const fit = (): void => (setZoom(1), setShift({ x: 0, y: 0 }));

  return (
    <div class="graph-picture">
      <svg
        ref={svg}
        viewBox={`${box.x} ${box.y} ${box.width} ${box.height}`}
        role="group"
        aria-label={texts.picture}
        onPointerDown={grab}
        onPointerMove={drag}
        onPointerUp={() => (dragged.current = null)}
        onPointerLeave={() => (dragged.current = null)}
      >
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
            <path d="M0 0 8 4 0 8z" />
          </marker>
        </defs>
        {relations.map((one) => (
          <Arrow key={keyOf(one)} relation={one} entities={entities} places={places} chosen={chosen} texts={texts} choose={chooseRelation} />
        ))}
        {entities.map((one) => {
          const place = places.get(one.id);
          return (
            place && (
              <g
                key={one.id}
                data-entity={one.id}
                class={`node ${expanded.has(one.id) ? "expanded" : ""} ${chosen === one.id ? "chosen" : ""}`}
                transform={`translate(${place.x} ${place.y})`}
                role="button"
                tabIndex={one.id === reachable ? 0 : -1}
                aria-label={texts.node(one.name, texts.kinds[one.kind], one.passages, expanded.has(one.id))}
                aria-pressed={chosen === one.id}
                onFocus={() => setFocused(one.id)}
                onClick={() => choose(one)}
                onKeyDown={(event) => {
                  if (event.key !== "Enter" && event.key !== " ") return move(event, one.id);
                  event.preventDefault();
                  choose(one);
                }}
              >
                <circle r={radius(one)} />
                <text y={radius(one) + 15} aria-hidden="true">
                  {one.name.length > LETTERS ? `${one.name.slice(0, LETTERS - 1)}…` : one.name}
                </text>
              </g>
            )
          );
        })}
      </svg>
      <div class="graph-zoom row">
        <button type="button" class="quiet" aria-label={texts.zoomIn} onClick={() => setZoom(Math.min(6, zoom * 1.3))}>
          <Icon name="plus" />
        </button>
        <button type="button" class="quiet" aria-label={texts.zoomOut} onClick={() => setZoom(Math.max(0.5, zoom / 1.3))}>
          <span aria-hidden="true">−</span>
        </button>
        <button type="button" class="quiet" onClick={fit}>
          {texts.fit}
        </button>
      </div>
    </div>
  );
}

interface ArrowProps {
  relation: Relation;
  entities: readonly Entity[];
  places: ReadonlyMap<string, Place>;
  chosen: string;
  texts: GraphTexts;
  choose: (relation: Relation) => void;
}

/** A relation; its words stand on it while one of its ends, or itself, is chosen. The lists have it for the keyboard. */
function Arrow({ relation, entities, places, chosen, texts, choose }: ArrowProps) {
  const from = places.get(relation.subject);
  const to = places.get(relation.target);
  const target = entities.find((one) => one.id === relation.target);
  if (!from || !to || !target || relation.subject === relation.target) return null;
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const end = Math.max(0, 1 - (radius(target) + 3) / length);
  const line = { x1: from.x, y1: from.y, x2: from.x + (to.x - from.x) * end, y2: from.y + (to.y - from.y) * end };
  // Along the arrow, and never upside down.
  const slope = (Math.atan((to.y - from.y) / (to.x - from.x || 1e-9)) * 180) / Math.PI;
  const lit = chosen === keyOf(relation);
  const named = lit || chosen === relation.subject || chosen === relation.target;
  return (
    <g class={`edge ${lit ? "chosen" : ""} ${relation.kind === "related_to" ? "weak" : ""}`} aria-hidden="true" onClick={() => choose(relation)}>
      <line {...line} class="hit" />
      <line {...line} class="line" marker-end="url(#arrow)" />
      {named && (
        <text transform={`translate(${(from.x + to.x) / 2} ${(from.y + to.y) / 2}) rotate(${slope})`} y={-5}>
          {texts.relations[relation.kind]}
        </text>
      )}
    </g>
  );
}

const DIRECTIONS: Record<string, Place | undefined> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

/** The entity that is nearest in this direction; those beside it count as farther. */
function nearest(from: string, direction: Place, places: ReadonlyMap<string, Place>): string | null {
  const here = places.get(from);
  if (!here) return null;
  let best: string | null = null;
  let least = Infinity;
  for (const [id, place] of places) {
    const along = (place.x - here.x) * direction.x + (place.y - here.y) * direction.y;
    const across = Math.abs((place.x - here.x) * direction.y) + Math.abs((place.y - here.y) * direction.x);
    if (id !== from && along > 0 && along + 2 * across < least) [best, least] = [id, along + 2 * across];
  }
  return best;
}

function radius(entity: Entity): number {
  return Math.min(RADIUS.most, RADIUS.least + Math.sqrt(entity.passages));
}

function boxOf(places: ReadonlyMap<string, Place>): Box {
  const all = [...places.values()];
  const [left, right] = [Math.min(...all.map((one) => one.x)), Math.max(...all.map((one) => one.x))];
  const [top, bottom] = [Math.min(...all.map((one) => one.y)), Math.max(...all.map((one) => one.y))];
  const width = Math.max(SMALLEST, right - left + 2 * MARGIN);
  const height = Math.max(SMALLEST * 0.6, bottom - top + MARGIN);
  return { x: (left + right - width) / 2, y: (top + bottom - height) / 2, width, height };
}

function zoomed(box: Box, zoom: number, shift: Place): Box {
  const [width, height] = [box.width / zoom, box.height / zoom];
  return { x: box.x + (box.width - width) / 2 + shift.x, y: box.y + (box.height - height) / 2 + shift.y, width, height };
}
