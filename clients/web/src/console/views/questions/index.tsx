/** Questions: the live list, one question explained, its replay, and what a replay changed. */

import type { ViewProps } from "../registry";
import { DifferenceView } from "./difference";
import { QuestionList } from "./list";
import { OneQuestion } from "./question";
import { ReplayForm } from "./replay";
import { questionTexts } from "./texts";
import "./questions.css";

/** `#/questions`, `#/questions/ID`, `#/questions/ID/replay?from=STEP`, `#/questions/ID/difference/OTHER`. */
export default function QuestionsView(props: ViewProps) {
  const texts = questionTexts(props.language);
  const [id, what, other] = props.path;
  if (!id) return <QuestionList {...props} texts={texts} />;
  if (what === "replay") return <ReplayForm key={id} {...props} id={id} texts={texts} />;
  if (what === "difference" && other) return <DifferenceView key={id + other} {...props} id={id} other={other} texts={texts} />;
  return <OneQuestion key={id} {...props} id={id} texts={texts} />;
}
