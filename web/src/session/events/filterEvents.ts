import type { SessionEvent } from "../feed/event";

interface EventFilter {
  kind?: string | undefined;
  text?: string | undefined;
  turn?: string | undefined;
}

export function filterEvents(
  log: readonly SessionEvent[],
  { kind, text, turn }: EventFilter,
): readonly SessionEvent[] {
  if (!kind && !text && !turn) return log;
  const wanted = text?.toLowerCase();
  return log.filter(
    (event) =>
      (!kind || event.kind === kind) &&
      (!turn || event.turnId === turn) &&
      (!wanted || `${event.kind} ${JSON.stringify(event.data)}`.toLowerCase().includes(wanted)),
  );
}

export function kindsOf(log: readonly SessionEvent[]): string[] {
  return [...new Set<string>(log.map(({ kind }) => kind))].sort();
}
