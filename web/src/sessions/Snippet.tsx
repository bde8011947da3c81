import { Link } from "@tanstack/react-router";
import type { MatchLineFragment } from "@/gql/graphql";
import { plainText } from "@/ui/plainText";

/** The place in a message that a search found, which leads there. */
export function Snippet({ sessionId, match }: { sessionId: string; match: MatchLineFragment }) {
  return (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId }}
      search={{ message: match.message.id }}
      className="relative z-10 rounded text-ink-2 hover:underline"
    >
      <MatchLine match={match} />
    </Link>
  );
}

/** What a search found, with its words marked. */
export function MatchLine({ match }: { match: MatchLineFragment }) {
  return match.parts.map(({ text, hit }, at) =>
    hit ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line have no other name.
      <mark key={at} className="rounded-xs bg-accent-soft text-ink">
        {plainText(text)}
      </mark>
    ) : (
      plainText(text)
    ),
  );
}
