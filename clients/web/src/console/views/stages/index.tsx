/** To be written. */

import { Empty } from "../../components/states";
import type { ViewProps } from "../registry";

export default function StagesView({ common }: ViewProps) {
  return <Empty title={common.stages} />;
}
