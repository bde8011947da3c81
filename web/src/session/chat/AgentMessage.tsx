import { ChevronRight } from "lucide-react";
import type { AgentItem } from "../feed/state";
import { FailureNote } from "./FailureNote";
import { MarkdownText } from "./MarkdownText";
import { MessageImages } from "./MessageImages";
import { MessageTools } from "./MessageTools";
import { RetryLine } from "./RetryLine";

export function AgentMessage({ item }: { item: AgentItem }) {
  const { text, thinking, state, images, retry } = item;
  // Where a budget has stopped the turn, its end says so, with the way out.
  const error = item.error?.code === "budget_exhausted" ? null : item.error;
  // A step that only calls tools says nothing.
  if (text === "" && thinking === "" && images.length === 0 && !retry && !error) return null;
  return (
    <div data-role="agent" data-state={state} className="group/message relative mt-4">
      <span className="sr-only">Agent: </span>
      {thinking !== "" && <Thinking text={thinking} done={item.thinkingDone} />}
      {text !== "" && <MarkdownText text={text} />}
      {state === "interrupted" && (
        <p className="mt-1 text-xs text-ink-3">Stopped before this message was complete.</p>
      )}
      <MessageImages images={images} />
      {state !== "streaming" && <MessageTools text={text} />}
      {retry && <RetryLine key={`${retry.attempt}:${retry.model}`} retry={retry} />}
      {error && <FailureNote failure={error} className="mt-4" />}
    </div>
  );
}

function Thinking({ text, done }: { text: string; done: boolean }) {
  return (
    <details className="group mb-2 text-sm text-ink-3">
      <summary className="inline-flex items-center gap-1 rounded hover:text-ink">
        <ChevronRight size={14} className="transition-transform group-open:rotate-90" aria-hidden />
        <span className={done ? undefined : "animate-pulse-soft"}>
          {done ? "Thought" : "Thinking…"}
        </span>
      </summary>
      <div className="mt-1.5 border-l-2 border-line pl-3 whitespace-pre-wrap wrap-anywhere">
        {text}
      </div>
    </details>
  );
}
