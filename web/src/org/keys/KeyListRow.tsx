import { PERMISSION_WORDS } from "@/auth/permissions";
import type { ApiKeyRowFragment } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";
import { formatDateTime } from "@/ui/format";
import { RelativeTime } from "@/ui/Time";
import { keyState } from "./keyDraft";

interface KeyListRowProps {
  apiKey: ApiKeyRowFragment;
  onRevoke: () => void;
}

export function KeyListRow({ apiKey, onRevoke }: KeyListRowProps) {
  const { name, prefix, permissions, createdAt, expiresAt, lastUsedAt, revokedAt } = apiKey;
  const state = keyState(apiKey, Date.now());
  return (
    <li
      data-key={name}
      className="flex flex-wrap items-start gap-x-4 gap-y-1 border-b border-line px-4 py-2.5 text-sm sm:px-6"
    >
      <div className="min-w-48 flex-1">
        <div className="flex min-w-0 flex-wrap items-center gap-x-2">
          <span className={classes("truncate font-medium", state !== "active" && "text-ink-2")}>
            {name}
          </span>
          <span className="font-mono text-2xs text-ink-3">{prefix}…</span>
          {state !== "active" && (
            <Badge tone={state === "expired" ? "warn" : "neutral"}>{state}</Badge>
          )}
        </div>
        <p className="text-xs text-ink-3">
          created <RelativeTime time={createdAt} /> ·{" "}
          {lastUsedAt === null ? (
            "never used"
          ) : (
            <>
              last used <RelativeTime time={lastUsedAt} />
            </>
          )}
          {revokedAt !== null && (
            <>
              {" "}
              · revoked <RelativeTime time={revokedAt} />
            </>
          )}
          {revokedAt === null &&
            (expiresAt === null ? " · never expires" : ` · expires ${formatDateTime(expiresAt)}`)}
        </p>
        <ul className="mt-1 flex flex-wrap gap-1" aria-label={`Permissions of ${name}`}>
          {permissions.map((each) => (
            <li key={each}>
              <Badge title={PERMISSION_WORDS[each]}>{each}</Badge>
            </li>
          ))}
        </ul>
      </div>
      {state === "active" && (
        <Button look="ghost" onClick={onRevoke} aria-label={`Revoke ${name}`}>
          Revoke
        </Button>
      )}
    </li>
  );
}
