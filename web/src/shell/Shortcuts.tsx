import { Dialog } from "@/ui/Dialog";
import { commandKey } from "./commandKey";
import { setSingleKeys, useSingleKeys } from "./keys";
import { useOfferedPages } from "./useOfferedPages";
import { useMay } from "./viewer";

type Shortcut = readonly [what: string, ...keys: string[]];

/** All shortcuts, and the switch that turns those off that are a single key. */
export default function Shortcuts({ onClose }: { onClose: () => void }) {
  const on = useSingleKeys();
  const pages = useOfferedPages();
  const mayRun = useMay("SESSIONS_WRITE");
  const command = commandKey();
  const decides = pages.some(({ to }) => to === "/approvals");
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts">
      <div className="space-y-5 p-4">
        <label className="flex items-center gap-2 text-sm">
          <input
            type="checkbox"
            className="size-3.5 accent-accent"
            checked={on}
            onChange={(event) => setSingleKeys(event.target.checked)}
          />
          Single-key shortcuts
        </label>
        <Group
          title="Everywhere"
          shortcuts={[
            ["Search and go to", command, "K"],
            ["Save the form", command, "S"],
          ]}
        />
        <Group
          title="In a session"
          shortcuts={[
            ["Send the message", "Enter"],
            ["New line", "Shift", "Enter"],
            ["Stop the turn", command, "."],
          ]}
        />
        <Group
          title="In the timeline"
          shortcuts={[
            ["Move", "↑", "↓"],
            ["Show or hide the calls of a turn", "→", "←"],
            ["Zoom in and out", "+", "−"],
            ["Move what is shown", "Shift", "←", "→"],
            ["Fit what is selected", "F"],
            ["Show the whole turn", "0"],
          ]}
        />
        {on && (
          <>
            <Group
              title="Single keys"
              shortcuts={[
                ["Show this list", "?"],
                ...(mayRun ? [["New session", "C"] as const] : []),
              ]}
            />
            <Group
              title="Go to"
              shortcuts={pages.map(({ label, key }) => [label, "G", key.toUpperCase()])}
            />
            {decides && (
              <Group
                title="Approvals"
                shortcuts={[
                  ["Next", "J"],
                  ["Previous", "K"],
                  ["Approve", "A"],
                  ["Deny", "D"],
                ]}
              />
            )}
          </>
        )}
      </div>
    </Dialog>
  );
}

function Group({ title, shortcuts }: { title: string; shortcuts: readonly Shortcut[] }) {
  return (
    <section>
      <h3 className="section-title pb-1">{title}</h3>
      <dl className="divide-y divide-line text-sm">
        {shortcuts.map(([what, ...keys]) => (
          <div key={what} className="flex items-center justify-between gap-4 py-1.5">
            <dt>{what}</dt>
            <dd className="flex gap-1">
              {keys.map((key) => (
                <kbd key={key} className="kbd">
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
