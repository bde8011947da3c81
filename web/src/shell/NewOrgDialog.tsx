import { useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, type UserError } from "@/api/errors";
import { CreateOrgDocument } from "@/gql/graphql";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { useSwitchOrg } from "./useSwitchOrg";

/** Makes an organization, with the person as its owner, and goes there. */
export default function NewOrgDialog({ onClose }: { onClose: () => void }) {
  const [{ fetching, error }, create] = useMutation(CreateOrgDocument);
  const [name, setName] = useState("");
  const [slug, setSlug] = useState("");
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  // It stays when going there fails, so that a second click doesn't make a second one.
  const [made, setMade] = useState<string | null>(null);
  const { change, busy, problem } = useSwitchOrg();

  const submit = async () => {
    if (made !== null) return change(made);
    const { data } = await create({ input: { name: name.trim(), slug: slug.trim() || null } });
    setRefusals(data?.createOrg.userErrors ?? []);
    const org = data?.createOrg.org;
    if (!org) return;
    setMade(org.id);
    change(org.id);
  };

  return (
    <FormDialog
      title="New organization"
      action={made === null ? "Create organization" : "Open it"}
      failure={problem ? `It was created. ${problem}` : error ? describeError(error) : null}
      refusals={refusals}
      fields={["name", "slug"]}
      disabled={fetching || busy || name.trim() === ""}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="text-sm text-ink-2">
        An organization has its own agents, sessions, providers, keys and members, separate from all
        others. You become its owner.
      </p>
      <TextField
        label="Name"
        errors={fieldErrors(refusals, "name")}
        required
        disabled={made !== null}
        value={name}
        onChange={setName}
      />
      <TextField
        label="Slug"
        optional
        hint="A unique short name. Leave empty to generate one from the name."
        errors={fieldErrors(refusals, "slug")}
        spellCheck={false}
        mono
        disabled={made !== null}
        value={slug}
        onChange={setSlug}
      />
    </FormDialog>
  );
}
