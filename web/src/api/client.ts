import { authExchange } from "@urql/exchange-auth";
import { Client, fetchExchange } from "urql";
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

export const client = new Client({
  url: "/graphql",
  preferGetMethod: false,
  fetch: fetchByHash,
  fetchOptions: {
    credentials: "same-origin",
    // Under this type a refusal answers with status 200, so that it is no network error to the browser.
    headers: { accept: "application/json" },
  },
  exchanges: [createCache(), renewingSignIn(), fetchExchange],
});
