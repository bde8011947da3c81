import { useState } from "react";
import { useMutation } from "urql";
import { describeError, type UserError } from "@/api/errors";
import { AcceptInvitationDocument, SignInDocument } from "@/gql/graphql";
import { announceIdentity } from "./identity";
import { forgetInvitation } from "./pendingInvitation";

export interface Acceptance {
  /** As who is signed in. */
  asViewer: () => Promise<void>;
  asNewcomer: (name: string, password: string) => Promise<void>;
  /** Signs in first; who belongs to no organization can't, and proves who they are with the password alone. */
  asMember: (email: string, password: string) => Promise<void>;
  busy: boolean;
  refusals: readonly UserError[];
  /** Why the request itself failed. */
  failure: string | null;
  /** Why this invitation can't be accepted by anybody. */
  dead: string | null;
}

/** Accepts an invitation, and goes to the organization that it was for. */
export function useAcceptance(token: string): Acceptance {
  const [, accept] = useMutation(AcceptInvitationDocument);
  const [, signIn] = useMutation(SignInDocument);
  const [busy, setBusy] = useState(false);
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [failure, setFailure] = useState<string | null>(null);

  const tryToAccept = async (who: { name?: string; password?: string }) => {
    const { data, error } = await accept({ input: { token, transport: "COOKIE", ...who } });
    if (error) setFailure(describeError(error));
    if (data?.acceptInvitation.tokens) {
      announceIdentity();
      forgetInvitation();
      // A full load, so that nothing of another organization stays in memory.
      location.assign("/");
      return null;
    }
    return data?.acceptInvitation.userErrors ?? [];
  };
  const run = async (attempt: () => Promise<readonly UserError[] | null>) => {
    setBusy(true);
    setFailure(null);
    const refused = await attempt();
    // Without refusals the page is being left.
    if (refused === null) return;
    setRefusals(refused);
    setBusy(false);
  };

  return {
    asViewer: () => run(() => tryToAccept({})),
    asNewcomer: (name, password) => run(() => tryToAccept({ name, password })),
    asMember: (email, password) =>
      run(async () => {
        const { data, error } = await signIn({ input: { email, password, transport: "COOKIE" } });
        if (error) setFailure(describeError(error));
        if (!data) return [];
        if (data.signIn.tokens) {
          announceIdentity();
          return tryToAccept({});
        }
        if (data.signIn.userErrors.some(({ code }) => code !== "INVALID_CREDENTIALS")) {
          return data.signIn.userErrors;
        }
        const refused = await tryToAccept({ password });
        // "Sign in first" is what was tried: the truth is that e-mail and password don't fit.
        return refused?.some(({ code }) => code === "FORBIDDEN") ? data.signIn.userErrors : refused;
      }),
    busy,
    refusals,
    failure,
    dead: deadReason(refusals),
  };
}

/** The message for a token that is spent, forged or too old: no other form of the request would be taken. */
export function deadReason(refusals: readonly UserError[]): string | null {
  const about = refusals.find(
    ({ code, path }) =>
      path.includes("token") && (code === "INVALID_CREDENTIALS" || code === "EXPIRED"),
  );
  return about?.message ?? null;
}
