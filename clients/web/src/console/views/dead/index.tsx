/** To be written. */

import { Empty } from "../../components/states";
import type { ViewProps } from "../registry";

export default function DeadView({ common }: ViewProps) {
  return <Empty title={common.dead} />;
}
