import { useState } from "react";
import { useAction } from "@/api/useAction";
import { CreateOrgDocument } from "@/gql/graphql";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { useFields } from "@/ui/useFields";
import { useSwitchOrg } from "./useSwitchOrg";

/** Makes an organization, with the person as its owner, and goes there. */
export default function NewOrgDialog({ onClose }: { onClose: () => void }) {
  const create = useAction(CreateOrgDocument);
  const [draft, field] = useFields({ name: "", slug: "" }, create.refusals);
  const name = draft.name.trim();
  // It stays when going there fails, so that a second click doesn't make a second one.
  const [made, setMade] = useState<string | null>(null);
  const { change, busy, problem } = useSwitchOrg();

  const submit = async () => {
    if (made !== null) return change(made);
    const answer = await create.run({ input: { name, slug: draft.slug.trim() || null } });
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
      disabled={busy || name === ""}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="text-sm text-ink-2">
        An organization has its own agents, sessions, providers, keys and members, separate from all
        others. You become its owner.
      </p>
      <TextField label="Name" required disabled={made !== null} {...field("name")} />
      <TextField
        label="Slug"
        optional
        hint="A unique short name. Leave empty to generate one from the name."
        spellCheck={false}
        mono
        disabled={made !== null}
        {...field("slug")}
      />
    </FormDialog>
  );
}
