import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMutation } from "urql";
import { definitionProblems } from "@/definitions/draft";
import { NewDefinition } from "@/definitions/NewDefinition";
import { CreateHarnessDocument } from "@/gql/graphql";
import { useViewer } from "@/shell/viewer";
import { createInput, emptyHarness } from "./draft";
import { HarnessEditor } from "./HarnessEditor";

export function NewHarnessPage() {
  const { parent = "" } = useSearch({ from: "/app/harnesses/new" });
  const navigate = useNavigate();
  const [{ fetching, error }, create] = useMutation(CreateHarnessDocument);
  return (
    <NewDefinition
      // A draft belongs to the parent that it was begun with.
      key={parent}
      kind="harness"
      // It names models of the organization that it was begun in.
      storageKey={`ostler.harness.new.${useViewer().org.id}.${parent}`}
      empty={{ ...emptyHarness, parentId: parent }}
      problemsOf={definitionProblems}
      fetching={fetching}
      error={error}
      create={async (draft) => {
        const { data } = await create({ input: createInput(draft) });
        const harness = data?.createHarness.harness;
        if (!harness) return data?.createHarness.userErrors ?? [];
        void navigate({ to: "/harnesses/$harnessId", params: { harnessId: harness.id } });
        return null;
      }}
      editor={(props) => <HarnessEditor {...props} saved={null} />}
    />
  );
}
