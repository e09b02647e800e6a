/** Documents: what is indexed, adding and removing it, and one document with its passages. */

import type { ViewProps } from "../registry";
import { DocumentDetails } from "./document";
import "./documents.css";
import { DocumentList } from "./list";

export default function DocumentsView(props: ViewProps) {
  const source = props.path[0];
  return source ? <DocumentDetails key={source} {...props} source={source} /> : <DocumentList {...props} />;
}
