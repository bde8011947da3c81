import type { Rating } from "@/gql/graphql";
import { doerOf, type EventOf } from "./event";
import type { Doer } from "./state";

/** What somebody thinks of the answer of a turn. */
export interface Feedback {
  readonly by: Doer;
  readonly rating: Rating;
  readonly comment: string | null;
}

/** What is said of a turn after one more event; everybody has one say. */
export function withFeedback(
  said: readonly Feedback[],
  event: EventOf<"TurnRated">,
): readonly Feedback[] {
  const by = doerOf(event);
  const others = said.filter((each) => each.by.id !== by.id);
  const { rating, comment } = event;
  return rating === null ? others : [...others, { by, rating, comment: comment || null }];
}

/** In a sentence, as in "Rated down: It forgot the hay." */
export function feedbackWords({ rating, comment }: Feedback): string {
  const words = rating === "UP" ? "Rated up" : "Rated down";
  return comment === null ? words : `${words}: ${comment}`;
}
