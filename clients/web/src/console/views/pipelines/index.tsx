/** To be written. */

import { Empty } from "../../components/states";
import type { ViewProps } from "../registry";

export default function PipelinesView({ common }: ViewProps) {
  return <Empty title={common.pipelines} />;
}
