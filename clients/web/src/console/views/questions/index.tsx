/** To be written. */

import { Empty } from "../../components/states";
import type { ViewProps } from "../registry";

export default function QuestionsView({ common }: ViewProps) {
  return <Empty title={common.questions} />;
}
