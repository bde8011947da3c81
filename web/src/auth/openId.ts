import { safeReturnUrl } from "./returnUrl";

/** Where a sign-in at the issuer begins; the server sends the browser on, and back to `next` in the end. */
export function openIdStart(next: unknown, invitation?: string | null): string {
  const query = new URLSearchParams({ returnTo: safeReturnUrl(next) });
  if (invitation) query.set("invitation", invitation);
  return `/auth/oidc/start?${query}`;
}

/** The account has a password: whoever has given it is sent on to the issuer, which is linked to the account then. */
export const CONFIRM = "oidc_confirm";

const REASONS = new Map<string, (issuer: string) => string>([
  ["oidc_unavailable", (issuer) => `${issuer} can't be reached just now. Try again in a moment.`],
  ["oidc_state", () => "This sign-in was begun elsewhere, or too long ago. Begin it again here."],
  ["oidc_declined", (issuer) => `The sign-in was cancelled at ${issuer}.`],
  ["oidc_failed", (issuer) => `The answer of ${issuer} could not be verified.`],
  ["oidc_email", (issuer) => `${issuer} gives no e-mail for you that it has verified.`],
  ["oidc_domain", () => "E-mails of this domain may not sign in here."],
  [
    "oidc_not_invited",
    (issuer) =>
      `You have no account here, or belong to no organization. Ask for an invitation, and open it before you sign in with ${issuer}.`,
  ],
  [
    "oidc_invitation",
    () =>
      "The invitation was used or revoked, is too old, is for another e-mail, or was opened by a link of another site. If you have accepted it before, sign in without it.",
  ],
  [
    CONFIRM,
    (issuer) =>
      `There is an account with your e-mail that has a password. Sign in with it once: then ${issuer} is linked to the account.`,
  ],
  [
    "oidc_other_identity",
    (issuer) =>
      `The account with your e-mail is linked to somebody else at ${issuer}. The operator of this server can undo that.`,
  ],
  ["oidc_throttled", () => "Too many attempts: wait a little and try again."],
]);

/** Says why the server sent the browser back to the sign-in page; null when it did not. The words are never those of the address. */
export function openIdRefusal(code: string | undefined, issuer: string): string | null {
  if (!code) return null;
  return REASONS.get(code)?.(issuer) ?? `Signing in with ${issuer} did not work. Try again.`;
}
