import { useFresh, useReloadOnFocus } from "@/api/useFresh";
import { SessionFileDocument } from "@/gql/graphql";

export type FileNow =
  /** Nobody knows yet, or nobody asked. */
  | { readonly state: "unknown" }
  | { readonly state: "missing" }
  | { readonly state: "binary" }
  | { readonly state: "text"; readonly content: string };

/** A file of a session as it is now; without a session nothing is read. */
export function useFileNow(sessionId: string | undefined, path: string): FileNow {
  const pause = sessionId === undefined;
  const { data, reload } = useFresh(SessionFileDocument, { id: sessionId ?? "", path }, pause);
  useReloadOnFocus(reload, pause);
  if (pause || !data?.session) return { state: "unknown" };
  const { file } = data.session;
  if (!file) return { state: "missing" };
  if (file.encoding === "base64" || file.content === null) return { state: "binary" };
  return { state: "text", content: file.content };
}
