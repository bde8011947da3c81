import { useAlone } from "@/org/useAlone";
import { useViewer } from "@/shell/viewer";
import type { Wait } from "./wait";
import { whyNot } from "./words";

/** Says why there are no buttons; nothing when there are. */
export function WhyNot({ wait }: { wait: Wait }) {
  const viewer = useViewer();
  const alone = useAlone(wait.kind === "APPROVAL" && !wait.viewerMayResolve);
  if (wait.viewerMayResolve) return null;
  return <p className="text-xs text-ink-2">{whyNot(wait, viewer, alone)}</p>;
}
