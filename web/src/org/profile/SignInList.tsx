import { useAction } from "@/api/useAction";
import { useFresh, useReloadOn } from "@/api/useFresh";
import { RevokeSignInDocument, SignInsDocument, type SignInsQuery } from "@/gql/graphql";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { RequestError } from "@/ui/ErrorNote";
import { formatDateTime } from "@/ui/format";
import { SkeletonRows } from "@/ui/Loading";
import { Problems } from "@/ui/Problems";
import { RelativeTime } from "@/ui/Time";
import { programName } from "./userAgent";

type SignIn = SignInsQuery["signIns"][number];

/** Where the person is signed in. The list is read anew with each `version`. */
export function SignInList({ version }: { version: number }) {
  const { data, error, fetching, reload } = useFresh(SignInsDocument, {});
  useReloadOn(version, reload);

  return (
    <section aria-labelledby="profile-sign-ins" className="min-w-0 space-y-3">
      <h2 id="profile-sign-ins" className="text-sm font-semibold">
        Signed-in devices
      </h2>
      <RequestError error={error} onRetry={reload} />
      <ul aria-labelledby="profile-sign-ins" className="card divide-y divide-line">
        {!data && fetching && (
          <li>
            <SkeletonRows rows={2} />
          </li>
        )}
        {data?.signIns.map((each) => (
          <SignInRow key={each.id} signIn={each} onRevoked={reload} />
        ))}
      </ul>
      <p className="text-xs text-ink-3">
        If you don't recognize a device, sign it out and change your password.
      </p>
    </section>
  );
}

function SignInRow({ signIn, onRevoked }: { signIn: SignIn; onRevoked: () => void }) {
  const { id, userAgent, address, createdAt, lastUsedAt, current } = signIn;
  const revoke = useAction(RevokeSignInDocument);
  const name = programName(userAgent);
  return (
    <li
      data-current={current || undefined}
      className="flex flex-wrap items-center gap-x-4 gap-y-1 px-3.5 py-2.5 text-sm"
    >
      <div className="min-w-40 flex-1">
        <div className="flex min-w-0 items-center gap-2">
          <span className="truncate" title={userAgent}>
            {name}
          </span>
          {current && <Badge tone="accent">this device</Badge>}
        </div>
        <p className="text-xs text-ink-3">
          {address} · last used <RelativeTime time={lastUsedAt} /> · since{" "}
          {formatDateTime(createdAt)}
        </p>
        <Problems of={revoke} />
      </div>
      {!current && (
        <Button
          look="ghost"
          disabled={revoke.busy}
          aria-label={`Sign out ${name}`}
          onClick={async () => {
            if (await revoke.run({ id })) onRevoked();
          }}
        >
          Sign out
        </Button>
      )}
    </li>
  );
}
