import type { EventOf } from "../feed/event";
import { textOf } from "../feed/messages";
import type { Span, TimelineTurn } from "./model";
import { Block } from "./Section";

/** What came of a call. */
export function OutputOf({ turn, span }: { turn: TimelineTurn; span: Span }) {
  if (span.kind === "model") return <ModelOutput turn={turn} span={span} />;
  if (span.kind === "tool") {
    const done = eventOf(span, "ToolCompleted");
    if (!done) return <None open={span.end === null} />;
    return done.success ? (
      <Block title="Result" value={done.result} />
    ) : (
      <Block title="Error" value={done.toolError ?? "The call failed."} />
    );
  }
  if (span.marks.length > 0) {
    return span.marks.map(({ at, words }) => <Block key={at} title="Decision" value={words} />);
  }
  const hook = eventOf(span, "HookRan");
  if (!hook) return <None open={span.end === null} />;
  return <Block title="Decision" value={hook.hookError ?? hook.hookReason ?? hook.decision} />;
}

function ModelOutput({ turn, span }: { turn: TimelineTurn; span: Span }) {
  const message = eventOf(span, "OutputCompleted")?.message;
  if (!message) return span.failure ? null : <None open={span.end === null} />;
  const thinking = textOf(message, "ThinkingPart");
  const text = textOf(message, "TextPart");
  const calls = message.content.flatMap((part) =>
    part.__typename === "ToolCallPart" ? [part] : [],
  );
  return (
    <>
      {thinking && <Block title="Thinking" value={thinking} />}
      {text && <Block title="Answer" value={text} />}
      {calls.map(({ toolCallId, toolName }) => {
        const call = turn.spans.find(({ id }) => id === toolCallId);
        const value = call ? eventOf(call, "ToolStarted")?.arguments : undefined;
        return <Block key={toolCallId} title={`Call of ${toolName}`} value={value ?? {}} />;
      })}
      {!thinking && !text && calls.length === 0 && !span.failure && <None open={false} />}
    </>
  );
}

function None({ open }: { open: boolean }) {
  return <p className="text-sm text-ink-3">{open ? "Nothing yet." : "There is no output."}</p>;
}

/** The newest event of one type that a call has. */
export function eventOf<Name extends EventOf<"ToolStarted">["__typename"] | string>(
  span: Span,
  name: Name,
) {
  return span.events.findLast((event) => event.__typename === name) as
    | Extract<Span["events"][number], { __typename: Name }>
    | undefined;
}
