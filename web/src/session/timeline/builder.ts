import { addDecimals } from "@/money/decimal";
import type { Mark, Span, SpanUsage, TimelineTurn } from "./model";

type Draft<T> = { -readonly [Key in keyof T]: T[Key] };

interface DraftSpan extends Draft<Omit<Span, "marks">> {
  marks: Mark[];
}

interface DraftTurn extends Draft<Omit<TimelineTurn, "spans" | "marks">> {
  spans: DraftSpan[];
  marks: Mark[];
}

const noUsage: SpanUsage = {
  inputTokens: 0,
  outputTokens: 0,
  costUsd: "0",
  firstTokenMs: null,
  estimated: false,
};

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
      queuedAt: this.#queuedAt.get(id) ?? null,
      start: at,
      end: null,
      spans: [],
      marks: [],
      usage: noUsage,
      inherited: false,
    });
  }

  /** Does something to a turn that has begun; others are not in the picture. */
  change(id: string | null, change: (turn: DraftTurn) => void): void {
    const turn = id === null ? undefined : this.#turns.get(id);
    if (turn) change(turn);
  }

  open(turn: DraftTurn, span: Pick<Span, "id" | "kind" | "depth" | "label" | "start">): DraftSpan {
    const opened: DraftSpan = { ...span, end: null, state: "open", usage: null, marks: [] };
    turn.spans.push(opened);
    return opened;
  }

  close(
    turn: DraftTurn,
    at: number,
    state: Span["state"],
    which: (span: Span) => boolean,
  ): DraftSpan | null {
    const span = turn.spans.findLast((each) => each.end === null && which(each));
    if (!span) return null;
    span.end = at;
    span.state = state;
    return span;
  }

  /** Marks the span that it is about, else what is open, else the turn. */
  mark(turn: DraftTurn, mark: Mark, spanId: string | null = null): void {
    const span =
      turn.spans.findLast(({ id }) => id === spanId) ??
      turn.spans.findLast(({ end, kind }) => end === null && kind !== "wait");
    (span ?? turn).marks.push(mark);
  }

  addUsage(turn: DraftTurn, usage: SpanUsage): void {
    const total = turn.usage;
    turn.usage = {
      inputTokens: total.inputTokens + usage.inputTokens,
      outputTokens: total.outputTokens + usage.outputTokens,
      costUsd:
        total.costUsd === null || usage.costUsd === null
          ? null
          : addDecimals(total.costUsd, usage.costUsd),
      firstTokenMs: total.firstTokenMs,
      estimated: total.estimated || usage.estimated,
    };
  }

  /** Nothing of a turn can last longer than the turn. */
  end(turn: DraftTurn, at: number, status: TimelineTurn["status"]): void {
    for (const span of turn.spans) {
      // The step that a cancel cuts off ends without success, which is nobody's failure.
      const cut = status === "cancelled" && span.kind === "reason" && span.state === "failed";
      if (span.end === null || cut) span.state = "interrupted";
      span.end ??= at;
    }
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
