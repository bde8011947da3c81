import { expect, it } from "vitest";
import type { Feedback } from "../feed/feedback";
import { withTaken } from "./useFeedback";

const by = (id: string) => ({ kind: "USER", id });
const mine: Feedback = { by: by("me"), rating: "DOWN", comment: null };
const theirs: Feedback = { by: by("them"), rating: "UP", comment: null };

it("shows what the server has taken until the event of it comes", () => {
  const known = { turn_1: [mine, theirs] };
  const say = { rating: "DOWN" as const, comment: "It forgot the hay." };
  const taken = { turn_1: { known: known.turn_1, say } };
  const now = [theirs, { ...mine, comment: "It forgot the hay." }];
  expect(withTaken(known, taken, "me")).toEqual({ turn_1: now });

  const back = { turn_1: { known: known.turn_1, say: null } };
  expect(withTaken(known, back, "me")).toEqual({ turn_1: [theirs] });

  // From then on the feed alone counts, also when what it says is what was there before.
  const later = { turn_1: [mine, theirs] };
  expect(withTaken(later, taken, "me")).toBe(later);
});

it("shows what was said first", () => {
  const say = { rating: "UP" as const, comment: null };
  const taken = { turn_1: { known: undefined, say } };
  expect(withTaken({}, taken, "me")).toEqual({ turn_1: [{ by: by("me"), ...say }] });
});
