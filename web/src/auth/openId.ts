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
  ["oidc_state", () => "This sign-in has expired or was started elsewhere. Try again."],
  ["oidc_declined", (issuer) => `The sign-in was cancelled at ${issuer}.`],
  ["oidc_failed", (issuer) => `The response from ${issuer} could not be verified.`],
  ["oidc_email", (issuer) => `${issuer} has no verified email for you.`],
  ["oidc_domain", () => "Your email domain is not allowed to sign in here."],
  [
    "oidc_not_invited",
    (issuer) =>
      `You have no account or organization here. Ask for an invitation, and open it before signing in with ${issuer}.`,
  ],
  [
    "oidc_invitation",
    () =>
      "The invitation has expired, was used or revoked, or is for another email. If you already accepted it, sign in without it.",
  ],
  [
    CONFIRM,
    (issuer) =>
      `An account with your email already has a password. Sign in with it once to link ${issuer}.`,
  ],
  [
    "oidc_other_identity",
    (issuer) =>
      `Your account is linked to a different ${issuer} user. The operator of this server can unlink it.`,
  ],
  ["oidc_throttled", () => "Too many attempts. Wait a moment and try again."],
]);

/** Says why the server sent the browser back to the sign-in page; null when it did not. The words are never those of the address. */
export function openIdRefusal(code: string | undefined, issuer: string): string | null {
  if (!code) return null;
  return REASONS.get(code)?.(issuer) ?? `Signing in with ${issuer} failed. Try again.`;
}
