import { type FormEvent, type KeyboardEvent, useState } from "react";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { ErrorNote } from "@/ui/ErrorNote";
import { TrialChat } from "./TrialChat";
import { useTrial, type Version } from "./useTrial";

interface TryPanelProps {
  /** The agent that is edited; null for a new one, and for a harness. */
  agentId: string | null;
  /** What is typed; null while it can't be run. */
  draft: Version | null;
  /** What was last saved, where that is something else. */
  saved: Version | null;
  /** Why there is no draft to try. */
  problem: string | null;
}

/** Talks to what is being edited before it is saved, and beside it to what was saved last. */
export default function TryPanel({ agentId, draft, saved, problem }: TryPanelProps) {
  const [text, setText] = useState("");
  const versions = [draft, saved].filter((each) => each !== null);
  const trial = useTrial(agentId, versions);
  const sendable = draft !== null && text.trim() !== "" && !trial.busy;

  const send = async () => {
    if (!sendable) return;
    const sent = text.trim();
    setText("");
    // What was typed meanwhile stays.
    if (!(await trial.send(sent))) setText((since) => [sent, since].filter(Boolean).join("\n"));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };

  return (
    <aside aria-label="Try it" className="card min-w-0 space-y-3 p-3.5">
      <p className="text-xs text-ink-3">
        {saved
          ? `Each message is answered by the draft and by ${saved.label.toLowerCase()}.`
          : "Messages are answered by the draft."}{" "}
        Trials count as usage, budgets apply, and tools really run. They aren't listed among the
        sessions.
      </p>
      {trial.sessions.length > 0 && (
        <div className={classes("grid gap-4", trial.sessions.length > 1 && "sm:grid-cols-2")}>
          {trial.sessions.map((each) => (
            <TrialChat key={each.sessionId} {...each} />
          ))}
        </div>
      )}
      {trial.outdated && (
        <p role="status" className="text-xs text-warn">
          The draft has changed. The next message starts over with it.
        </p>
      )}
      {problem && <p className="text-xs text-warn">{problem}</p>}
      {trial.problem && <ErrorNote>{trial.problem}</ErrorNote>}
      <form onSubmit={submit} className="flex items-end gap-2">
        <textarea
          aria-label="Message to try"
          placeholder="Message the draft…"
          rows={1}
          className="control field-sizing-content max-h-40 min-h-8 flex-1 resize-none"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <Button look="primary" type="submit" disabled={!sendable}>
          {trial.busy ? "Sending…" : "Send"}
        </Button>
      </form>
    </aside>
  );
}
