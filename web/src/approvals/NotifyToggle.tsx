import { Bell, BellOff, BellRing } from "lucide-react";
import { useState } from "react";
import { notifyState, switchNotifications } from "@/live/notify";
import { Button } from "@/ui/Button";

/** Switches this browser's notifications of what waits. */
export function NotifyToggle() {
  const [state, setState] = useState(notifyState);
  const [asked, setAsked] = useState(false);
  if (state === "unsupported" && !asked) return null;
  if (state === "blocked" || state === "unsupported") {
    return (
      <span role="status" className="flex items-center gap-1.5 text-xs text-ink-3">
        <BellOff size={14} aria-hidden />
        {state === "blocked"
          ? "Your browser blocks notifications of this site."
          : "This browser can't show notifications of a site."}
      </span>
    );
  }
  const on = state === "on";
  const Icon = on ? BellRing : Bell;
  return (
    <Button
      look="ghost"
      aria-pressed={on}
      title="Shown by this browser while you look at something else"
      onClick={async () => {
        setAsked(true);
        setState(await switchNotifications(!on));
      }}
    >
      <Icon size={14} aria-hidden />
      {on ? "Notifications on" : "Notify me"}
    </Button>
  );
}
