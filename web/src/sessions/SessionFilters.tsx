import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, useState } from "react";
import { useQuery } from "urql";
import { SessionFormOptionsDocument, SessionModelsDocument } from "@/gql/graphql";
import { type Change, changed, trimmed } from "@/shell/search";
import { Filter } from "@/ui/Field";
import { LateInput } from "@/ui/LateInput";
import { Toggles } from "@/ui/Toggles";
import { amount, date, OUTCOMES, SESSION_STATUSES, type SessionListSearch } from "./search";
import { STATUS_LABELS } from "./status";

const VIEWS: readonly { label: string; search: Change<SessionListSearch> }[] = [
  { label: "All", search: { status: undefined, failed: undefined } },
  ...SESSION_STATUSES.map((status) => ({
    label: STATUS_LABELS[status],
    search: { status, failed: undefined },
  })),
  { label: "Failed or stopped", search: { status: undefined, failed: true } },
];

const PERIODS = [
  [1, "Last 24 hours"],
  [7, "Last 7 days"],
  [30, "Last 30 days"],
] as const;

const OUTCOME_LABELS: Record<(typeof OUTCOMES)[number], string> = {
  COMPLETED: "Completed",
  FAILED: "Failed",
  SEALED: "Stopped",
  CANCELLED: "Cancelled",
};

const TEXT = { read: trimmed };
const DAY = { read: date, type: "date" };
const AMOUNT = { read: amount, inputMode: "decimal" } as const;

/** Filters that are typed, with how each is read. */
const TYPED = [
  ["tag", "Tag", TEXT],
  ["customer", "Customer key", TEXT],
  ["from", "Created from", DAY],
  ["to", "Created until", DAY],
  ["costFrom", "Cost from, $", AMOUNT],
  ["costTo", "Cost to, $", AMOUNT],
  ["tookFrom", "Last turn from, s", AMOUNT],
  ["tookTo", "Last turn to, s", AMOUNT],
] as const;

/** Which sessions are listed; the address holds it. */
export function SessionFilters() {
  const search = useSearch({ from: "/app/sessions" });
  const { agent, harness, model, days, outcome, rated } = search;
  const navigate = useNavigate({ from: "/sessions" });
  const change = (next: Change<SessionListSearch>) =>
    void navigate({ search: (old) => changed(old, next), replace: true });
  const [{ data }] = useQuery({ query: SessionFormOptionsDocument, variables: { search: null } });
  const [{ data: known }] = useQuery({ query: SessionModelsDocument });
  const narrowed =
    [agent, harness, model, days, outcome, rated].some((value) => value !== undefined) ||
    TYPED.some(([name]) => search[name] !== undefined);
  // They stay while the last of them is taken away.
  const [open, setOpen] = useState(narrowed);
  useEffect(() => {
    if (narrowed) setOpen(true);
  }, [narrowed]);
  return (
    <search className="space-y-2 border-b border-line px-4 py-2 sm:px-6">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="relative w-full sm:w-72">
          <Search size={14} aria-hidden className="absolute top-2.25 left-2.5 text-ink-3" />
          <LateInput
            type="search"
            aria-label="Search sessions"
            placeholder="Title, customer, message or ID"
            className="control pl-8"
            value={search.q}
            read={trimmed}
            onCommit={(q) => change({ q })}
          />
        </div>
        <Toggles
          label="Status"
          options={VIEWS}
          words={({ label }) => label}
          pressed={({ search: view }) =>
            view.status === search.status && view.failed === search.failed
          }
          onPress={({ search: view }) => change(view)}
        />
      </div>
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="w-fit cursor-pointer rounded text-xs text-ink-2 hover:text-ink">
          {narrowed ? "Filters" : "More filters"}
        </summary>
        <div className="mt-2 flex flex-wrap gap-2">
          <Filter
            className="w-full sm:w-44"
            label="Agent"
            none="All agents"
            value={agent}
            options={data?.agents.nodes.map(({ id, displayName }) => [id, displayName]) ?? []}
            onChange={(id) => change({ agent: id })}
          />
          <Filter
            className="w-full sm:w-44"
            label="Harness"
            none="All harnesses"
            value={harness}
            options={data?.harnesses.nodes.map(({ id, displayName }) => [id, displayName]) ?? []}
            onChange={(id) => change({ harness: id })}
          />
          <Filter
            className="w-full sm:w-44"
            label="Created"
            none="Any time"
            value={days === undefined ? undefined : String(days)}
            options={PERIODS.map(([count, label]) => [String(count), label])}
            onChange={(count) => change({ days: count === undefined ? undefined : Number(count) })}
          />
          <Filter
            className="w-full sm:w-44"
            label="Feedback"
            none="Any feedback"
            value={rated}
            options={[["down", "Rated down"]]}
            onChange={(next) => change({ rated: next })}
          />
          <Filter
            className="w-full sm:w-40"
            label="Last turn"
            none="Any last turn"
            value={outcome}
            options={OUTCOMES.map((each) => [each, OUTCOME_LABELS[each]])}
            onChange={(next) => change({ outcome: next })}
          />
          <Filter
            className="w-full sm:w-44"
            label="Model"
            none="All models"
            value={model}
            options={known?.models.nodes.map(({ id, displayName }) => [id, displayName]) ?? []}
            onChange={(id) => change({ model: id })}
          />
        </div>
        <div className="mt-2 flex flex-wrap gap-2">
          {TYPED.map(([name, label, typed]) => (
            <div key={name} className="w-[calc(50%-0.25rem)] sm:w-36">
              <label htmlFor={`filter-${name}`} className="mb-1 block text-xs text-ink-2">
                {label}
              </label>
              <LateInput
                {...typed}
                id={`filter-${name}`}
                className="control"
                value={search[name]}
                onCommit={(next) => change({ [name]: next })}
              />
            </div>
          ))}
        </div>
      </details>
    </search>
  );
}
