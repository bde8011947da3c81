import { ThumbsDown, ThumbsUp } from "lucide-react";
import { problemOf, useAction } from "@/api/useAction";
import { RateTurnDocument, type Rating } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { Button, IconButton } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { DoerName } from "../DoerName";
import type { Feedback } from "../feed/feedback";
import { useChatActions } from "./actions";

const NONE: readonly Feedback[] = [];

/** What people think of an answer. Each of them has one say, which can be changed and taken back. */
export function TurnFeedback({ turnId }: { turnId: string }) {
  const { mayWrite, sessionId, sessionOf, feedback, onRated, onComment } = useChatActions();
  const viewer = useViewer();
  const rate = useAction(RateTurnDocument);
  const said = feedback[turnId] ?? NONE;
  const own = said.find(({ by }) => by.id !== null && by.id === viewer.user?.id);
  // What is said of the history of a fork is said in the session that it comes from.
  const mayRate = mayWrite && sessionOf(turnId) === sessionId;
  if (!mayRate && said.length === 0) return null;

  const press = async (pressed: Rating) => {
    const say = own?.rating === pressed ? null : { rating: pressed, comment: own?.comment ?? null };
    const { rating = null, comment = null } = say ?? {};
    if (await rate.run({ input: { turnId, rating, comment } })) onRated(turnId, say);
  };
  const problem = problemOf(rate);
  return (
    <>
      <fieldset className="flex items-center text-ink-3">
        <legend className="sr-only">Feedback</legend>
        {(["UP", "DOWN"] as const).map((rating) => (
          <Thumb
            key={rating}
            rating={rating}
            count={said.filter((each) => each.rating === rating).length}
            pressed={own?.rating === rating}
            disabled={!mayRate || rate.busy}
            onPress={() => void press(rating)}
          />
        ))}
        {mayRate && own && (
          <Button
            look="ghost"
            className="h-6 px-1.5 text-xs font-normal text-ink-3"
            onClick={() => onComment(turnId, own)}
          >
            {own.comment === null ? "Add a comment" : "Edit comment"}
          </Button>
        )}
      </fieldset>
      {problem && (
        <span role="alert" className="text-bad wrap-anywhere">
          {problem}
        </span>
      )}
      {said.map(
        ({ by, rating, comment }) =>
          comment !== null && (
            <p
              key={by.id}
              data-feedback={rating}
              className="order-last w-full text-ink-2 wrap-anywhere"
            >
              “{comment}” – <DoerName by={by} />
            </p>
          ),
      )}
    </>
  );
}

interface ThumbProps {
  rating: Rating;
  count: number;
  pressed: boolean;
  disabled: boolean;
  onPress: () => void;
}

function Thumb({ rating, count, pressed, disabled, onPress }: ThumbProps) {
  const Icon = rating === "UP" ? ThumbsUp : ThumbsDown;
  return (
    <span className="flex items-center">
      <IconButton
        label={rating === "UP" ? "Good answer" : "Bad answer"}
        aria-pressed={pressed}
        disabled={disabled}
        onClick={onPress}
        className={classes("size-6!", pressed && (rating === "UP" ? "text-ok!" : "text-bad!"))}
      >
        <Icon size={13} fill={pressed ? "currentColor" : "none"} />
      </IconButton>
      {count > (pressed ? 1 : 0) && <span className="pr-1">{count}</span>}
    </span>
  );
}
