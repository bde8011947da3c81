import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useMutation } from "urql";
import { describeError, type UserError } from "@/api/errors";
import { same } from "@/catalog/rebase";
import { CreateHarnessDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { PageHeader } from "@/ui/PageHeader";
import { useStoredState } from "@/ui/useStoredState";
import { createInput, draftProblems, emptyHarness } from "./draft";
import { HarnessEditor } from "./HarnessEditor";

export function NewHarnessPage() {
  const { parent = "" } = useSearch({ from: "/app/harnesses/new" });
  // A draft belongs to the parent that it was begun with.
  return <NewHarness key={parent} parent={parent} />;
}

function NewHarness({ parent }: { parent: string }) {
  const navigate = useNavigate();
  const [stored, setDraft] = useStoredState(
    sessionStorage,
    // It names models of the organization that it was begun in.
    `ostler.harness.new.${useViewer().org.id}.${parent}`,
    emptyHarness,
  );
  const [refusals, setRefusals] = useState<readonly UserError[]>([]);
  const [{ fetching, error }, create] = useMutation(CreateHarnessDocument);
  const untouched = { ...emptyHarness, parentId: parent };
  const draft = stored === emptyHarness ? untouched : { ...untouched, ...stored };

  const save = async () => {
    const { data } = await create({ input: createInput(draft) });
    setRefusals(data?.createHarness.userErrors ?? []);
    const harness = data?.createHarness.harness;
    if (!harness) return;
    setDraft(emptyHarness);
    void navigate({ to: "/harnesses/$harnessId", params: { harnessId: harness.id } });
  };

  return (
    <>
      <PageHeader title="New harness">
        {!same(draft, untouched) && (
          <Button look="ghost" onClick={() => setDraft(emptyHarness)}>
            Clear
          </Button>
        )}
        <Button
          look="primary"
          type="submit"
          form="harness"
          disabled={fetching || Object.keys(draftProblems(draft)).length > 0}
        >
          {fetching ? "Creating…" : "Create harness"}
        </Button>
      </PageHeader>
      <HarnessEditor
        draft={draft}
        onChange={setDraft}
        onSubmit={() => void save()}
        refusals={refusals}
        failure={error ? describeError(error) : null}
        mode="create"
        saved={null}
      />
    </>
  );
}
