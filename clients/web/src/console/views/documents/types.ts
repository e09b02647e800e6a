/** What the routes of documents reply. */

export interface IndexedDocument {
  source: string;
  digest: string;
  version: string;
  title: string;
  url: string;
  language: string;
  collection: string;
  chunks: number;
  indexed_at: string;
  date: string;
  description: string;
  prefix: string;
  origin: string;
  submission: string;
  groups: string[];
  metadata: Record<string, string>;
}

export interface DocumentsPage {
  documents: IndexedDocument[];
  total: number;
  after: string;
  facets?: { collections: Record<string, number>; languages: Record<string, number>; groups: Record<string, number> };
}

export interface Passage {
  id: string;
  text: string;
  title: string;
  start: number;
  end: number;
}

export interface DocumentPage {
  document: IndexedDocument;
  passages: Passage[];
  after: number;
}

export interface Submission {
  id: string;
  status: "submitted" | "indexed" | "unchanged" | "refused";
  chunks?: number;
  entities?: number;
  relations?: number;
  seconds?: number;
  reason?: string;
}

export interface Formats {
  max_bytes: number;
  formats: { media_type: string; endings: string[] }[];
}
