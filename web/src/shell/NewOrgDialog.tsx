import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { describeError, fieldErrors, otherErrors, type UserError } from "@/api/errors";
import { CreateOrgDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { ErrorNote } from "@/ui/ErrorNote";
import { Field } from "@/ui/Field";
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

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (made !== null) return change(made);
    const { data } = await create({ input: { name: name.trim(), slug: slug.trim() || null } });
    setRefusals(data?.createOrg.userErrors ?? []);
    const org = data?.createOrg.org;
    if (!org) return;
    setMade(org.id);
    change(org.id);
  };

  return (
    <Dialog open onClose={onClose} title="New organization">
      <form onSubmit={(event) => void submit(event)} className="space-y-5 p-4">
        {error && <ErrorNote>{describeError(error)}</ErrorNote>}
        {problem && <ErrorNote>It was created. {problem}</ErrorNote>}
        {otherErrors(refusals, ["name", "slug"]).map((refusal) => (
          <ErrorNote key={refusal.message}>{refusal.message}</ErrorNote>
        ))}
        <p className="text-sm text-ink-2">
          It has its own agents, sessions, providers, keys and members, and shares nothing with
          other organizations. You become its owner.
        </p>
        <Field label="Name" errors={fieldErrors(refusals, "name")}>
          {(control) => (
            <input
              {...control}
              required
              autoComplete="off"
              className="control"
              disabled={made !== null}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field
          label="Slug"
          optional
          hint="Its unique short name. Empty for one that is made of the name."
          errors={fieldErrors(refusals, "slug")}
        >
          {(control) => (
            <input
              {...control}
              autoComplete="off"
              spellCheck={false}
              className="control font-mono"
              disabled={made !== null}
              value={slug}
              onChange={(event) => setSlug(event.target.value)}
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={fetching || busy || name.trim() === ""}>
            {made === null ? "Create organization" : "Go there"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
