/** The address within the console: `#/VIEW/PART?NAME=VALUE`. */

import { useEffect, useState } from "preact/hooks";

export interface Route {
  view: string;
  /** What follows the view's name. */
  path: string[];
  query: URLSearchParams;
}

/** The address that the hash names. */
export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { view, path: rest, query: new URLSearchParams(query) };
}

/** The hash of an address, for links. */
export function linkTo(view: string, path: readonly string[] = [], query: Record<string, string> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value);
  const text = new URLSearchParams(given).toString();
  return `#/${[view, ...path].map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** The present address; it changes with the browser's history. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const changed = (): void => setRoute(routeOf(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
