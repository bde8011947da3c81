import { authExchange } from "@urql/exchange-auth";
import { Client, type Exchange, fetchExchange } from "urql";
import { goToSignIn } from "@/auth/goToSignIn";
import { createCache } from "./cache";
import { fetchByHash } from "./documents";
import { doubtViewer } from "./doubt";
import { hasCode } from "./errors";
import { refreshSignIn } from "./refresh";

/** Cookies carry the sign-in. An operation that finds it expired is sent once more after a renewal. */
function renewingSignIn() {
  return authExchange(async () => ({
    addAuthToOperation: (operation) => operation,
    didAuthError: (error) => {
      // Pages offer only what the viewer may do, so a refusal means that this has changed.
      if (hasCode(error, "FORBIDDEN")) doubtViewer();
      return hasCode(error, "UNAUTHENTICATED");
    },
    refreshAuth: async () => {
      if ((await refreshSignIn()) === "signed-out") goToSignIn();
    },
  }));
}

function createClient(...first: Exchange[]): Client {
  return new Client({
    url: "/graphql",
    preferGetMethod: false,
    fetch: fetchByHash,
    fetchOptions: {
      credentials: "same-origin",
      // Under this type a refusal answers with status 200, so that it is no network error to the browser.
      headers: { accept: "application/json" },
    },
    exchanges: [...first, renewingSignIn(), fetchExchange],
  });
}

export const client = createClient(createCache());

/** For what is kept elsewhere: events are folded, and would only fill the cache. */
export const uncached = createClient();
