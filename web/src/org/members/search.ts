/** What the address of the invitations holds. */
export interface InvitationsSearch {
  /** The dialog for a new one is open. */
  invite?: true;
}

export function invitationsSearch(search: Record<string, unknown>): InvitationsSearch {
  return search.invite === true ? { invite: true } : {};
}
