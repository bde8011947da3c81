/**
 * The invitation with which somebody has left for the issuer. A refusal comes back without it: what is in an address may come from
 * another site, and nobody is to accept what they have not opened. It is kept in this tab alone.
 */
const KEY = "ostler.invitation";

export function keepInvitation(token: string): void {
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // Without storage there is only no way back.
  }
}

export function keptInvitation(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function forgetInvitation(): void {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There was none to forget.
  }
}
