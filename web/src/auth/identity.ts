/** Tabs share the cookies, and so the person and the organization that are in them. */
const channel =
  typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("ostler.identity");

/** Tells the other tabs that the cookies are now those of another sign-in or organization. */
export function announceIdentity(): void {
  channel?.postMessage("changed");
}

/** Calls when another tab has changed the cookies, until what it gives is called. */
export function onIdentityAnnounced(listener: () => void): () => void {
  channel?.addEventListener("message", listener);
  return () => channel?.removeEventListener("message", listener);
}

/** Who is looking, and at which organization. */
export interface Identity {
  user: { id: string } | null;
  org: { id: string };
}

export function sameIdentity(one: Identity, other: Identity): boolean {
  return one.org.id === other.org.id && one.user?.id === other.user?.id;
}
