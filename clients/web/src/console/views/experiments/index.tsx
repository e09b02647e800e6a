/** Experiments: splits of live questions, shadow runs, and pairs of answers that experts compare without knowing whose they are. */

import type { FunctionComponent } from "preact";
import { linkTo } from "../../route";
import type { ViewProps } from "../registry";
import { Overview } from "./overview";
import { ResultPage } from "./result";
import { ReviewPage } from "./review";
import { ShadowPage } from "./shadow";
import { SplitPage } from "./split";
import { StartPage } from "./start";
import "./experiments.css";
import { EXPERIMENT_TEXTS, type ExperimentTexts } from "./texts";

export interface PartProps extends ViewProps {
  texts: ExperimentTexts;
  /** What the address names: a split, a shadow run or a review. */
  id: string;
}

const PAGES: Record<string, FunctionComponent<PartProps>> = { split: SplitPage, shadow: ShadowPage, review: ReviewPage, result: ResultPage };

export default function ExperimentsView(props: ViewProps) {
  const texts = EXPERIMENT_TEXTS[props.language];
  const [part = "", id = ""] = props.path;
  const Page = part === "new" ? StartPage : id ? PAGES[part] : undefined;
  if (!Page) return <Overview {...props} texts={texts} id="" />;
  return (
    <>
      <p>
        <a href={linkTo("experiments")}>{texts.back}</a>
      </p>
      <Page key={id} {...props} texts={texts} id={id} />
    </>
  );
}
