import type { SessionEvent } from "../feed/event";
import type { Failure } from "../feed/state";
import type { Mark, Span, TimelineTurn } from "./model";
import { noUsage } from "./usage";

type Draft<T> = { -readonly [Key in keyof T]: T[Key] };

interface DraftSpan extends Draft<Omit<Span, "marks" | "events">> {
  marks: Mark[];
  events: SessionEvent[];
}

interface DraftTurn extends Draft<Omit<TimelineTurn, "spans" | "marks" | "waits">> {
  spans: DraftSpan[];
  waits: { start: number; end: number | null }[];
  marks: Mark[];
}

/** Puts the turns of a timeline together. It changes what it holds; who asks for the turns gets them once. */
export class TimelineBuilder {
  readonly #turns = new Map<string, DraftTurn>();
  readonly #queuedAt = new Map<string, number>();
  readonly #messages = new Map<string, string>();

  turns(numbered: boolean): TimelineTurn[] {
    return [...this.#turns.values()].map((turn, index) => ({
      ...turn,
      number: numbered ? index + 1 : null,
    }));
  }

  queue(turnId: string, at: number): void {
    this.#queuedAt.set(turnId, at);
  }

  /** Keeps the words of a message for the turn that it begins. */
  hear(messageId: string, text: string): void {
    this.#messages.set(messageId, text);
  }

  begin(id: string, at: number, inputMessageId: string): void {
    const preview = this.#messages.get(inputMessageId) || null;
    this.#turns.set(id, {
      id,
      number: null,
      preview,
      status: "running",
      stopReason: null,
      failure: null,
      queuedAt: this.#queuedAt.get(id) ?? null,
      start: at,
      end: null,
      spans: [],
      waits: [],
      marks: [],
      usage: noUsage,
      feedback: [],
      inherited: false,
    });
  }

  /** Does something to a turn that has begun; others are not in the picture. */
  change(id: string | null, change: (turn: DraftTurn) => void): void {
    const turn = id === null ? undefined : this.#turns.get(id);
    if (turn) change(turn);
  }

  /** Begins a span with the event that tells of it. */
  open(
    turn: DraftTurn,
    event: SessionEvent,
    span: Pick<Span, "id" | "kind" | "label" | "start"> & Partial<Span>,
  ): DraftSpan {
    const opened: DraftSpan = {
      detail: "",
      end: null,
      state: "open",
      iteration: null,
      usage: null,
      failure: null,
      ...span,
      marks: [],
      events: [event],
    };
    turn.spans.push(opened);
    return opened;
  }

  /** The newest span of its kind, or with its id, which an event also tells of. */
  span(turn: DraftTurn, event: SessionEvent, which: (span: Span) => boolean): DraftSpan | null {
    const span = turn.spans.findLast(which);
    span?.events.push(event);
    return span ?? null;
  }

  close(
    turn: DraftTurn,
    event: SessionEvent,
    at: number,
    state: Span["state"],
    which: (span: Span) => boolean,
  ): DraftSpan | null {
    const span = this.span(turn, event, (each) => each.end === null && which(each));
    if (!span) return null;
    span.end = at;
    span.state = state;
    return span;
  }

  /** Marks the span that it is about, else what is open, else the turn. */
  mark(turn: DraftTurn, mark: Mark, spanId: string | null = null): void {
    const span =
      turn.spans.findLast(({ id }) => id === spanId) ??
      turn.spans.findLast(
        ({ end, kind }) => end === null && kind !== "wait" && kind !== "approval",
      );
    (span ?? turn).marks.push(mark);
  }

  /** A turn that fails with a call of a model fails for the reason of that call, which may have had no chance to tell it. */
  fail(turn: DraftTurn, at: number, status: "failed" | "sealed", failure: Failure): void {
    this.end(turn, at, status);
    turn.failure = failure;
    const last = turn.spans.at(-1);
    if (last?.kind === "model" && last.state === "failed") last.failure ??= failure;
  }

  /** Nothing of a turn can last longer than the turn. */
  end(turn: DraftTurn, at: number, status: TimelineTurn["status"]): void {
    for (const span of turn.spans) {
      // The call that a cancel cuts off ends without success, which is nobody's failure.
      const cut = status === "cancelled" && span.kind === "model" && span.state === "failed";
      if (span.end === null || cut) span.state = "interrupted";
      span.end ??= at;
    }
    for (const wait of turn.waits) wait.end ??= at;
    turn.end = at;
    turn.status = status;
  }

  /** All that there is so far is the history of another session. */
  inherit(at: number): void {
    for (const turn of this.#turns.values()) {
      if (turn.end === null) this.end(turn, at, "cancelled");
      turn.inherited = true;
    }
    this.#queuedAt.clear();
  }
}
