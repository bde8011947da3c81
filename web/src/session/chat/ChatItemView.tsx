import { memo } from "react";
import type { ChatItem } from "../feed/state";
import { AgentMessage } from "./AgentMessage";
import { ContextDivider } from "./ContextDivider";
import { NoticeLine } from "./NoticeLine";
import { SentMessage } from "./SentMessage";
import { ToolCard } from "./ToolCard";

/** Items are replaced and never changed, so those that stand still are not rendered again. */
export const ChatItemView = memo(function ChatItemView({ item }: { item: ChatItem }) {
  switch (item.kind) {
    case "user":
      return <SentMessage item={item} />;
    case "agent":
      return <AgentMessage item={item} />;
    case "tool":
      return <ToolCard item={item} />;
    case "notice":
      if (item.notice.type === "compacted")
        return <ContextDivider complete={item.notice.complete} />;
      return <NoticeLine item={item} />;
  }
});
