/** Dead letters: a list, or one of them where the address names its number. */

import { stateOf, useOperations } from "../../operations";
import { Failure, Loading } from "../../components/states";
import type { ViewProps } from "../registry";
import { LetterList } from "./list";
import { LetterPage } from "./letter";
import "./dead.css";
import { DEAD_TEXTS } from "./texts";

export default function DeadView(props: ViewProps) {
  const texts = DEAD_TEXTS[props.language];
  const operations = useOperations(props.api);
  if (operations.error) return <Failure error={operations.error} common={props.common} retry={operations.reload} />;
  if (!operations.value) return <Loading common={props.common} />;
  const { allowed, reason } = stateOf(operations.value, "dead_letters");
  const number = props.path[0] ?? "";
  const notice = allowed ? null : (
    <p class="notice" id="read-only">
      {texts.readOnly(reason)}
    </p>
  );
  return number ? (
    <LetterPage key={number} {...props} number={number} allowed={allowed} notice={notice} texts={texts} />
  ) : (
    <LetterList {...props} allowed={allowed} notice={notice} texts={texts} />
  );
}
