import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useQuery } from "urql";
import { useFresh } from "@/api/useFresh";
import { type BudgetSubject, BudgetSubjectsDocument, SubjectNameDocument } from "@/gql/graphql";
import { useMay, useViewer } from "@/shell/viewer";

/** What members and agents are called, by their ids. */
export type Names = ReadonlyMap<string, string>;

/** Reads the names of those whom most budgets are for, in one request; null until it is known what they are. */
export function useSubjectNames(): Names | null {
  const agents = useMay("CATALOG_READ");
  const members = useMay("MEMBERS_READ");
  const { data, error } = useFresh(BudgetSubjectsDocument, { agents, members });
  return useMemo(() => {
    if (!data) return error ? new Map() : null;
    return new Map([
      ...(data.agents?.nodes ?? []).map(({ id, displayName }) => [id, displayName] as const),
      ...(data.org.members?.nodes ?? []).map(({ user }) => [user.id, user.email] as const),
    ]);
  }, [data, error]);
}

interface SubjectProps {
  subject: BudgetSubject;
  subjectId: string;
  names: Names | null;
}

/** Whom a budget is for, by name, with the way there. */
export function SubjectName({ subject, subjectId, names }: SubjectProps) {
  const { org } = useViewer();
  const name = useName({ subject, subjectId, names });
  const link = "rounded underline-offset-2 hover:underline";
  switch (subject) {
    case "ORG":
      return org.name;
    case "CUSTOMER":
      return subjectId;
    case "AGENT":
      return (
        <Link to="/agents/$agentId" params={{ agentId: subjectId }} className={link}>
          {name}
        </Link>
      );
    case "SESSION":
      return (
        <Link to="/sessions/$sessionId" params={{ sessionId: subjectId }} className={link}>
          {name}
        </Link>
      );
    case "USER":
      return name;
  }
}

/** The same as text; the id where there is no name, or none that the viewer may read. */
export function useName({ subject, subjectId, names }: SubjectProps): string {
  const { org, user } = useViewer();
  const own = subject === "USER" && user?.id === subjectId;
  const known = names?.get(subjectId);
  const [{ data }] = useQuery({
    query: SubjectNameDocument,
    variables: { id: subjectId },
    pause:
      subject === "ORG" ||
      subject === "CUSTOMER" ||
      own ||
      known !== undefined ||
      // The list may be about to tell.
      (names === null && subject !== "SESSION"),
  });
  if (subject === "ORG") return org.name;
  if (subject === "CUSTOMER") return subjectId;
  if (own && user) return user.email;
  if (known !== undefined) return known;
  switch (data?.node?.__typename) {
    case "User":
      return data.node.email;
    case "Agent":
      return data.node.displayName;
    case "Session":
      return data.node.title ?? "Untitled session";
    default:
      return subjectId;
  }
}
