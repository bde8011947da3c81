import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import type { UserError } from "@/api/errors";
import { UpdateOrgLimitsDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { RequestError } from "@/ui/ErrorNote";
import { TextField } from "@/ui/Field";

/** Lets any organization use the server's provider keys, or takes them away: also one that the operator is no member of. */
export function OtherOrgKeys() {
  const [{ fetching, error }, update] = useMutation(UpdateOrgLimitsDocument);
  const [orgId, setOrgId] = useState("");
  const [done, setDone] = useState<string | null>(null);
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);

  const allow = async (environmentKeys: boolean) => {
    setDone(null);
    const { data } = await update({ orgId: orgId.trim(), input: { environmentKeys } });
    setRefusals(data?.updateOrgLimits.userErrors ?? []);
    if (data?.updateOrgLimits.org)
      setDone(environmentKeys ? "It may use them." : "It may not use them any more.");
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void allow(true);
  };

  return (
    <form onSubmit={submit} className="card space-y-4 p-4">
      <h2 className="text-sm font-semibold">The server's provider keys for another organization</h2>
      <RequestError error={error} />
      <TextField
        label="Organization"
        hint="Its id, which its owners find under Organization → General."
        errors={refusals.map(({ message }) => message)}
        spellCheck={false}
        mono
        placeholder="org_…"
        value={orgId}
        onChange={setOrgId}
      />
      <div className="flex items-center justify-end gap-3">
        {done && (
          <span role="status" className="text-sm text-ok">
            {done}
          </span>
        )}
        <Button disabled={fetching || orgId.trim() === ""} onClick={() => void allow(false)}>
          Don't allow
        </Button>
        <Button look="primary" type="submit" disabled={fetching || orgId.trim() === ""}>
          Allow
        </Button>
      </div>
    </form>
  );
}
