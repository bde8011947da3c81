import { useQuery } from "urql";
import { PersonNameDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import type { Doer } from "./feed/state";

/** Names who did something, as part of a sentence. Events know people by their ids only. */
export function DoerName({ by }: { by: Doer }) {
  const viewer = useViewer();
  const own = by.id !== null && by.id === viewer.user?.id;
  const [{ data }] = useQuery({
    query: PersonNameDocument,
    variables: { id: by.id ?? "" },
    pause: by.id === null || own,
  });
  if (own) return "you";
  if (data?.node?.__typename === "User") return data.node.name;
  return by.kind === "SYSTEM" ? "the server" : by.kind === "API_KEY" ? "an API key" : "someone";
}
