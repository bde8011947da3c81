import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useQuery } from "urql";
import { describeError, hasCode } from "@/api/errors";
import { SignInMethodsDocument, ViewerDocument } from "@/gql/graphql";
import { buttonClasses } from "@/ui/Button";
import { ErrorNote } from "@/ui/ErrorNote";
import { Spinner } from "@/ui/Loading";
import { AcceptAsMember, AcceptAsNewcomer, AcceptAsViewer } from "./AcceptForms";
import { EntryPage } from "./EntryPage";
import { openIdStart } from "./openId";
import { keepInvitation } from "./pendingInvitation";
import { useAcceptance } from "./useAcceptance";

/** Where the link of an invitation leads to. What it is for is not known before it is accepted. */
export function InvitePage() {
  const { token } = useSearch({ from: "/invite" });
  const [{ data, error, fetching }] = useQuery({
    query: ViewerDocument,
    requestPolicy: "network-only",
  });
  const [{ data: server }] = useQuery({ query: SignInMethodsDocument });
  const issuer = server?.serverInfo.oidcName;
  const [known, setKnown] = useState(false);
  // Somebody who is signed in may be somebody else than who was invited.
  const [another, setAnother] = useState(false);
  const acceptance = useAcceptance(token);
  const viewer = another ? null : (data?.viewer ?? null);
  const { dead } = acceptance;

  return (
    <EntryPage title="Join an organization">
      {token === "" || dead !== null ? (
        <div className="card space-y-4 p-5 text-sm">
          <ErrorNote>{dead ?? "This link is incomplete. Open the full invitation link."}</ErrorNote>
          <Link to="/" className={buttonClasses("secondary", "w-full")}>
            Go to the start page
          </Link>
        </div>
      ) : fetching ? (
        <div className="flex justify-center">
          <Spinner />
        </div>
      ) : (
        <>
          {error && !hasCode(error, "UNAUTHENTICATED") && (
            <div className="mb-4">
              <ErrorNote>{describeError(error)}</ErrorNote>
            </div>
          )}
          {viewer ? (
            <AcceptAsViewer
              viewer={viewer}
              acceptance={acceptance}
              onAnother={() => setAnother(true)}
            />
          ) : (
            <>
              {issuer && <AcceptAtIssuer issuer={issuer} token={token} />}
              <Choice known={known} onChange={setKnown} />
              {known ? (
                <AcceptAsMember acceptance={acceptance} />
              ) : (
                <AcceptAsNewcomer acceptance={acceptance} onKnown={() => setKnown(true)} />
              )}
            </>
          )}
        </>
      )}
    </EntryPage>
  );
}

/** The issuer says who somebody is; the server then accepts the invitation for them. */
function AcceptAtIssuer({ issuer, token }: { issuer: string; token: string }) {
  return (
    <div className="mb-4 space-y-4">
      <a
        href={openIdStart("/", token)}
        onClick={() => keepInvitation(token)}
        className={buttonClasses("secondary", "h-9 w-full")}
      >
        Accept with {issuer}
      </a>
      <p className="text-center text-ink-2 text-xs">or with a password</p>
    </div>
  );
}

interface ChoiceProps {
  known: boolean;
  onChange: (known: boolean) => void;
}

function Choice({ known, onChange }: ChoiceProps) {
  return (
    <fieldset className="mb-4 grid grid-cols-2 gap-0.5 rounded-lg border border-line bg-sunken p-0.5 text-sm">
      <legend className="sr-only">Do you have an account?</legend>
      {[
        { value: false, label: "I'm new here" },
        { value: true, label: "I have an account" },
      ].map(({ value, label }) => (
        <label
          key={label}
          className="cursor-pointer rounded-md px-2 py-1.5 text-center text-ink-2 has-checked:bg-surface has-checked:font-medium has-checked:text-ink has-checked:shadow-card has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name="known"
            className="sr-only"
            checked={known === value}
            onChange={() => onChange(value)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
