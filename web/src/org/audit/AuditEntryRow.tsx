import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import type { AuditRowFragment } from "@/gql/graphql";
import { Button, buttonClasses } from "@/ui/Button";
import { DataTable } from "@/ui/DataTable";
import { ExactTime } from "@/ui/Time";
import { actionWords, detailsOf, detailText, outcomeOf } from "./details";
import type { AuditSearch } from "./search";
import { subjectOf, targetPage } from "./target";

interface AuditEntryRowProps {
  entry: AuditRowFragment;
  /** Lists only what is like this entry. */
  onNarrow: (change: AuditSearch) => void;
}

/** One line, which opens to all that is recorded. */
export function AuditEntryRow({ entry, onNarrow }: AuditEntryRowProps) {
  const { position, actor, action, targetId, createdAt } = entry;
  const subject = subjectOf(action, entry.details);
  const outcome = outcomeOf(entry.details);
  const page = targetPage(targetId, entry.details);
  return (
    <li data-action={action} className="border-b border-line">
      <details className="group">
        <summary className="grid cursor-pointer list-none grid-cols-[auto_minmax(0,1fr)] items-center gap-x-2.5 px-4 py-2 text-sm transition-colors hover:bg-hover focus-visible:-outline-offset-2 sm:px-6 lg:grid-cols-[auto_minmax(0,1fr)_11rem_12rem_3.5rem]">
          <ChevronRight
            size={14}
            aria-hidden
            className="text-ink-3 transition-transform group-open:rotate-90"
          />
          <span className="flex min-w-0 flex-wrap items-baseline gap-x-2">
            <span className="font-medium">{actionWords(action)}</span>
            {subject !== null ? (
              <span className="truncate text-ink-2">{subject}</span>
            ) : (
              <span className="truncate font-mono text-2xs text-ink-3">{targetId}</span>
            )}
            {outcome !== null && <span className="truncate text-xs text-ink-3">{outcome}</span>}
          </span>
          <span className="col-start-2 truncate text-xs text-ink-2 lg:col-start-auto">
            {actor.name}
          </span>
          <ExactTime
            time={createdAt}
            className="col-start-2 text-xs text-ink-3 lg:col-start-auto"
          />
          <span className="hidden text-right text-xs text-ink-3 tabular-nums lg:block">
            {position}
          </span>
        </summary>
        <div className="space-y-3 bg-sunken px-4 py-3 pl-10 text-sm sm:px-6 sm:pl-12">
          <Details details={entry.details} />
          <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-xs">
            <Fact label="Action">{action}</Fact>
            <Fact label="Actor">
              {actor.name} ({actor.kind.toLowerCase().replace("_", " ")}
              {actor.id !== null && `, ${actor.id}`})
            </Fact>
            {targetId !== null && <Fact label="Target">{targetId}</Fact>}
            {entry.address !== null && <Fact label="Address">{entry.address}</Fact>}
            {entry.requestId !== null && <Fact label="Request">{entry.requestId}</Fact>}
            <Fact label="Position">{position}</Fact>
            <Fact label="Hash">{entry.hash}</Fact>
          </dl>
          <div className="-ml-3 flex flex-wrap">
            {page !== null && (
              <Link {...page} className={buttonClasses("ghost")}>
                Open
              </Link>
            )}
            <Button look="ghost" onClick={() => onNarrow({ action })}>
              Only this action
            </Button>
            {actor.id !== null && (actor.kind === "USER" || actor.kind === "API_KEY") && (
              <Button look="ghost" onClick={() => onNarrow({ actor: actor.id ?? "" })}>
                Only this actor
              </Button>
            )}
            {targetId !== null && (
              <Button look="ghost" onClick={() => onNarrow({ target: targetId })}>
                Only this target
              </Button>
            )}
          </div>
        </div>
      </details>
    </li>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{label}</dt>
      <dd className="min-w-0 font-mono text-2xs leading-4.5 wrap-anywhere">{children}</dd>
    </>
  );
}

function Details({ details }: { details: unknown }) {
  const rows = detailsOf(details);
  if (rows.length === 0) return null;
  const changes = rows.filter((row) => !("value" in row));
  const others = rows.filter((row) => "value" in row);
  return (
    <>
      {changes.length > 0 && (
        <div className="max-w-3xl overflow-hidden rounded-md border border-line bg-surface">
          <DataTable
            label="Changes"
            rows={changes}
            rowKey={({ name }) => name}
            columns={[
              { head: "Field", className: "wrap-anywhere", cell: ({ name }) => name },
              {
                head: "Before",
                className: "wrap-anywhere text-ink-2",
                cell: ({ name, before }) => detailText(name, before),
              },
              {
                head: "After",
                className: "wrap-anywhere",
                cell: ({ name, after }) => detailText(name, after),
              },
            ]}
          />
        </div>
      )}
      {others.length > 0 && (
        <dl className="grid max-w-3xl grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-xs">
          {others.map(({ name, value }) => (
            <div key={name} className="contents">
              <dt className="text-ink-3">{name}</dt>
              <dd className="min-w-0 wrap-anywhere">{detailText(name, value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}
