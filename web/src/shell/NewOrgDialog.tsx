import { useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { CreateOrgDocument } from "@/gql/graphql";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { useSwitchOrg } from "./useSwitchOrg";

/** Makes an organization, with the person as its owner, and goes there. */
export default function NewOrgDialog({ onClose }: { onClose: () => void }) {
  const create = useAction(CreateOrgDocument);
  const [name, setName] = useState("");
  const [slug, setSlug] = useState("");
  // It stays when going there fails, so that a second click doesn't make a second one.
  const [made, setMade] = useState<string | null>(null);
  const { change, busy, problem } = useSwitchOrg();

  const submit = async () => {
    if (made !== null) return change(made);
    const answer = await create.run({ input: { name: name.trim(), slug: slug.trim() || null } });
    const org = answer?.org;
    if (!org) return;
    setMade(org.id);
    change(org.id);
  };

  return (
    <FormDialog
      title="New organization"
      action={made === null ? "Create organization" : "Open it"}
      state={{ ...create, ...(problem && { failure: `It was created. ${problem}` }) }}
      fields={["name", "slug"]}
      disabled={busy || name.trim() === ""}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="text-sm text-ink-2">
        An organization has its own agents, sessions, providers, keys and members, separate from all
        others. You become its owner.
      </p>
      <TextField
        label="Name"
        errors={fieldErrors(create.refusals, "name")}
        required
        disabled={made !== null}
        value={name}
        onChange={setName}
      />
      <TextField
        label="Slug"
        optional
        hint="A unique short name. Leave empty to generate one from the name."
        errors={fieldErrors(create.refusals, "slug")}
        spellCheck={false}
        mono
        disabled={made !== null}
        value={slug}
        onChange={setSlug}
      />
    </FormDialog>
  );
}
