import { useFresh, useReloadOn } from "@/api/useFresh";
import { ModelViewDocument, type ModelViewQuery } from "@/gql/graphql";
import { RequestError } from "@/ui/ErrorNote";
import { formatCount } from "@/ui/format";
import { JsonBlock } from "@/ui/JsonBlock";
import { Spinner } from "@/ui/Loading";
import { MessageImages } from "../chat/MessageImages";
import type { Span, TimelineTurn } from "./model";
import { eventOf } from "./OutputOf";
import { Block, Section } from "./Section";

/** What went into a call. */
export function InputOf({ turn, span }: { turn: TimelineTurn; span: Span }) {
  if (span.kind === "model" && span.iteration !== null) {
    return <ModelInput turnId={turn.id} iteration={span.iteration} state={span.state} />;
  }
  const call = eventOf(span, "ToolStarted");
  if (call) return <Block title="Arguments" value={call.arguments} />;
  return span.events
    .slice(0, 1)
    .map(({ id, data }) => <Block key={id} title="Request" value={data} />);
}

type View = NonNullable<NonNullable<ModelViewQuery["turn"]>["modelView"]>;
type Message = View["messages"][number];

const ROLES: Record<Message["role"], string> = { USER: "User", AGENT: "Agent", TOOL: "Tool" };

function ModelInput(props: { turnId: string; iteration: number; state: Span["state"] }) {
  const { turnId, iteration, state } = props;
  const { data, error, fetching, reload } = useFresh(ModelViewDocument, { turnId, iteration });
  // Only when the call is over is it known what was sent.
  useReloadOn(state !== "open", reload);
  const view = data?.turn?.modelView;
  if (fetching && !view) return <Spinner />;
  if (error) return <RequestError error={error} onRetry={reload} />;
  if (!view) return <p className="text-sm text-ink-3">What was sent is no longer known.</p>;
  return (
    <>
      {!view.exact && (
        <p role="note" className="text-xs text-warn">
          {state === "ok"
            ? "The configuration has changed since, so this may not be exactly what was sent."
            : `${state === "open" ? "The call is still running" : "The call did not finish"}, so it can't be checked whether this is exactly what was sent.`}{" "}
          The system prompt and the tools are the current ones.
        </p>
      )}
      {view.systemPrompt === null ? (
        <p className="text-sm text-ink-3">The system prompt is no longer known.</p>
      ) : (
        <Block title="System prompt" value={view.systemPrompt || "None"} />
      )}
      {view.messages.map((message) => (
        <MessageSection key={message.messageId} message={message} />
      ))}
      <Section title={`Tools (${view.tools.length})`} copied={view.tools.join("\n")}>
        <p className="font-mono text-xs leading-5 text-ink-2 wrap-anywhere">
          {view.tools.join(", ") || "None"}
        </p>
      </Section>
    </>
  );
}

function MessageSection({ message: { role, tokens, content } }: { message: Message }) {
  return (
    <Section
      title={`${ROLES[role]} · about ${formatCount(tokens)} tokens`}
      copied={JSON.stringify(content, null, 2)}
    >
      {content.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message never change.
        <Part key={index} part={part} />
      ))}
    </Section>
  );
}

function Part({ part }: { part: Message["content"][number] }) {
  switch (part.__typename) {
    case "TextPart":
      return <JsonBlock value={part.text} />;
    case "ThinkingPart":
      return <Titled title="Thinking" value={part.text} />;
    case "ImagePart":
      return <MessageImages images={[part]} />;
    case "ToolCallPart":
      return <Titled title={`Call of ${part.toolName}`} value={part.arguments} />;
    case "ToolResultPart":
      return (
        <Titled
          title={part.success ? `Result of ${part.toolName}` : `Error of ${part.toolName}`}
          value={part.success ? part.result : part.error}
        />
      );
  }
}

function Titled({ title, value }: { title: string; value: unknown }) {
  return (
    <div>
      <p className="text-xs text-ink-3">{title}</p>
      <JsonBlock value={value} />
    </div>
  );
}
