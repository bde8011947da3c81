import { stringifyDocument } from "urql";
import { RefreshDocument } from "@/gql/graphql";
import { fetchByHash } from "./documents";

export type RefreshOutcome = "refreshed" | "signed-out" | "unreachable";

const REFRESHED_AT = "ostler.refreshed-at";

let inFlight: Promise<RefreshOutcome> | null = null;

/** Renews the cookies of this sign-in. All who ask while one renewal is under way share its outcome. */
export function refreshSignIn(): Promise<RefreshOutcome> {
  inFlight ??= renewOnceAcrossTabs().finally(() => {
    inFlight = null;
  });
  return inFlight;
}

/**
 * A refresh token is good for one use, and a second use ends the sign-in: tabs, which share the cookies, take turns,
 * and one that waited for its turn uses what the other has got.
 */
async function renewOnceAcrossTabs(): Promise<RefreshOutcome> {
  const askedAt = Date.now();
  // Locks exist in secure contexts only; elsewhere the tab is on its own.
  if (!navigator.locks) return renew();
  return navigator.locks.request("ostler.refresh", async () => {
    if (Number(localStorage.getItem(REFRESHED_AT) ?? 0) > askedAt) return "refreshed";
    const outcome = await renew();
    if (outcome === "refreshed") localStorage.setItem(REFRESHED_AT, String(Date.now()));
    return outcome;
  });
}

async function renew(): Promise<RefreshOutcome> {
  try {
    const response = await fetchByHash("/graphql", {
      method: "POST",
      credentials: "same-origin",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({
        query: stringifyDocument(RefreshDocument),
        operationName: "Refresh",
      }),
    });
    if (response.status >= 500) return "unreachable";
    const answer = (await response.json()) as {
      data?: { refreshTokens?: { tokens: unknown } | null } | null;
    };
    return answer.data?.refreshTokens?.tokens ? "refreshed" : "signed-out";
  } catch {
    return "unreachable";
  }
}
