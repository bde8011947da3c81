import { useState } from "react";
import { JsonBlock } from "@/ui/JsonBlock";
import { Toggles } from "@/ui/Toggles";
import { EditView } from "./EditView";
import { FieldTable } from "./FieldTable";
import { type Fields, readCall } from "./readCall";
import { WriteView } from "./WriteView";

interface CallDataProps {
  title: string;
  /** The tool whose arguments these are; null for other data. */
  toolName: string | null;
  value: unknown;
  /** The session of a call that has not run: what it would do to a file is shown against the file as it is now. */
  sessionId?: string | undefined;
}

const VIEWS = ["readable", "json"] as const;
const VIEW_WORDS = { readable: "Readable", json: "JSON" } as const;

/** What a call was asked, or has returned, in the form that its tool calls for, with the JSON behind a tab. */
export function CallData({ title, toolName, value, sessionId }: CallDataProps) {
  const [view, setView] = useState<(typeof VIEWS)[number]>("readable");
  const call = readCall(toolName, value);
  return (
    <div>
      <div className="mb-1 flex flex-wrap items-center justify-between gap-2">
        <h4 className="text-2xs font-medium text-ink-3">{title}</h4>
        {call.kind !== "json" && (
          <Toggles
            label="View"
            options={VIEWS}
            words={(each) => VIEW_WORDS[each]}
            pressed={(each) => view === each}
            onPress={setView}
          />
        )}
      </div>
      {view === "json" || call.kind === "json" ? (
        <JsonBlock value={value} />
      ) : (
        <div className="space-y-2">
          {call.kind === "write" && <WriteView {...call} sessionId={sessionId} />}
          {call.kind === "edit" && <EditView {...call} sessionId={sessionId} />}
          <Rest
            fields={call.kind === "fields" ? call.fields : call.rest}
            whole={call.kind === "fields"}
          />
        </div>
      )}
    </div>
  );
}

function Rest({ fields, whole }: { fields: Fields; whole: boolean }) {
  if (fields.length > 0) return <FieldTable fields={fields} />;
  return whole ? <p className="text-xs text-ink-3">None</p> : null;
}
