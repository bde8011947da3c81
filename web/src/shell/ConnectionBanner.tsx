import { CloudOff, LoaderCircle } from "lucide-react";
import type { Connection } from "@/api/connection";
import { formatClock } from "@/ui/format";

/** Says when what is on the page may be out of date. */
export function ConnectionBanner({ connection }: { connection: Connection }) {
  if (connection.status === "connecting" || connection.status === "live") return null;
  return (
    <div
      role="status"
      className="flex items-center gap-2 border-b border-line bg-warn-soft px-4 py-1.5 text-sm text-warn sm:px-6"
    >
      {connection.status === "reconnecting" ? (
        <>
          <LoaderCircle size={14} className="animate-spin" aria-hidden />
          Reconnecting – data as of {formatClock(connection.since)}
        </>
      ) : (
        <>
          <CloudOff size={14} aria-hidden />
          Live updates have stopped. {connection.message}
        </>
      )}
    </div>
  );
}
