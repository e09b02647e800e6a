/** What the routes of questions send; see docs/http-api.md. */

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_usd: number;
}

export interface QuestionLine {
  id: string;
  conversation_id: string;
  pipeline: string;
  pipeline_revision: number;
  lane: string;
  status: "running" | "ended";
  stage: string;
  fact: string;
  attempt: number;
  asked_at: string;
  ended_at: string | null;
  elapsed_ms: number;
  question: string;
  language: string;
  outcome: string;
  kind: string;
  answer: string;
  confidence: number;
  feedback_up: number;
  feedback_down: number;
  usage: Usage;
  parent: string;
}

export interface QuestionPage {
  questions: QuestionLine[];
  after: string;
}

export interface TimelineStep {
  stage: string;
  attempt: number;
  consumed: string;
  published: string;
  began_ms: number;
  waited_ms: number;
  worked_ms: number;
  recorded: boolean;
  running: boolean;
  out_of_band: boolean;
}

export interface RecordedFact {
  step: string;
  fact: string;
  attempt: number;
  sequence: number;
  time: string;
  at_ms: number;
  published_by: string;
  terminal: boolean;
  out_of_band: boolean;
  replayable: boolean;
  withheld: boolean;
  payload: Record<string, unknown>;
}

export interface ModelCall {
  stage: string;
  step: string;
  role: string;
  model: string;
  endpoint: string;
  usage: Usage;
  milliseconds: number;
  tries: number;
  outcome: string;
  attempt: number;
  recorded: boolean;
}

export interface FoundPassage {
  rank: number;
  id: string;
  source: string;
  title: string;
  url: string;
  text: string;
  score: number;
  via: string[];
  ranks: Record<string, number>;
}

export interface Retrieval {
  attempt: number;
  searched: string;
  sub_questions: string[];
  collections: string[];
  metadata: Record<string, string[]>;
  department: string;
  topic: string;
  search_provider: string;
  took_ms: number;
  retrievers: { name: string; candidates: number; took_ms: number; top_score: number; missing: string }[];
  steps: [string, string][];
  passages: FoundPassage[];
}

export interface Scores {
  groundedness: number;
  relevancy: number;
  completeness: number;
  overall: number;
}

export interface Citation {
  number: number;
  source: string;
  quote: string;
}

export interface Draft {
  attempt: number;
  text: string;
  engine: string;
  confidence: number;
  citations: Citation[];
  refuted: boolean;
  feedback: string;
  scores: Scores | null;
  judged_by: string;
  rewritten_question: string;
  best_effort: boolean;
}

export interface Outcome {
  name: string;
  kind: string;
  answer: { content: string } | null;
  citations: Citation[];
  confidence: number;
  scores: Scores | null;
  stage: string;
  by: string;
  origin: string;
  reply: boolean;
  findings: { kind: string; count: number }[];
}

export interface Timeline {
  id: string;
  conversation_id: string;
  pipeline: { name: string; revision: number };
  lane: string;
  parent: string;
  origin: string;
  route: { entry: string; question_class: string; by: string; confidence: number } | null;
  kept_in: "log" | "record";
  status: "running" | "ended";
  stage: string;
  question: string;
  language: string;
  asked_at: string;
  ended_at: string | null;
  attempts: number;
  outcome: Outcome | null;
  usage: Usage;
  steps: TimelineStep[];
  facts: RecordedFact[];
  model_calls: ModelCall[];
  retrievals: Retrieval[];
  drafts: Draft[];
  unreadable: number;
}

export interface RunSummary {
  id: string;
  pipeline: string;
  lane: string;
  parent: string;
  ending: string;
  answer: string;
  confidence: number;
  scores: Scores | null;
  attempts: number;
  tokens: number;
  cost_usd: number;
  milliseconds: number;
}

export interface Difference {
  left: RunSummary;
  right: RunSummary;
  verdict: "identical" | "better" | "worse" | "other";
  changed: string[];
  gained: string[];
  lost: string[];
  moved: { source: string; passage: string; before: number; after: number; score_before: number; score_after: number }[];
  words: ["=" | "-" | "+", string][];
}

export interface ReplayStarted {
  id: string;
  parent: string;
  start: string;
  pipeline: string;
  note: string;
}
