import { LoaderCircle, Square } from "lucide-react";
import { commandKey } from "@/shell/commandKey";
import { Button } from "@/ui/Button";

interface StopButtonProps {
  stopping: boolean;
  onStop: () => void;
}

export function StopButton({ stopping, onStop }: StopButtonProps) {
  return (
    <Button
      aria-label={stopping ? "Stopping…" : "Stop"}
      aria-keyshortcuts="Control+. Meta+."
      title={stopping ? "Stopping…" : `Stop this turn (${commandKey()} .)`}
      // Disabled would take the focus away from who has pressed it.
      aria-disabled={stopping}
      className="px-2.5"
      onClick={onStop}
    >
      {stopping ? (
        <LoaderCircle size={13} className="animate-spin" aria-hidden />
      ) : (
        <Square size={12} fill="currentColor" aria-hidden />
      )}
      <span className="hidden sm:inline">{stopping ? "Stopping…" : "Stop"}</span>
    </Button>
  );
}
