import { Clock } from "lucide-react";
import { useEffect, useState } from "react";
import { formatDateTime } from "@/ui/format";
import { deadlineWords } from "./words";

/** How long something still waits, counted down in words. */
export function Deadline({ deadline }: { deadline: string | null }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (deadline === null) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [deadline]);
  if (deadline === null) return null;
  return (
    <time
      dateTime={deadline}
      title={`Until ${formatDateTime(deadline)}`}
      className="inline-flex items-center gap-1 text-xs whitespace-nowrap text-ink-2 tabular-nums"
    >
      <Clock size={12} aria-hidden />
      {deadlineWords(deadline, now)}
    </time>
  );
}
