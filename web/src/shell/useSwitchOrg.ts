import { useState } from "react";
import { useMutation } from "urql";
import { describeError } from "@/api/errors";
import { announceIdentity } from "@/auth/identity";
import { SwitchOrgDocument } from "@/gql/graphql";

/** Changes to another organization. A full load forgets all data of the one that is left, and closes its streams. */
export function useSwitchOrg() {
  const [{ fetching }, switchOrg] = useMutation(SwitchOrgDocument);
  const [problem, setProblem] = useState<string | null>(null);
  const change = async (orgId: string, then: "home" | "here") => {
    const { data, error } = await switchOrg({ orgId });
    const refused = data?.switchOrg.userErrors[0];
    setProblem(error ? describeError(error) : (refused?.message ?? null));
    if (error || refused) return;
    announceIdentity();
    if (then === "home") location.assign("/");
    else location.reload();
  };
  return {
    /** Goes to the start page of the organization, or stays at this address. */
    change: (orgId: string, then: "home" | "here" = "home") => void change(orgId, then),
    busy: fetching,
    problem,
  };
}
