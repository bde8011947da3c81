import { useNavigate, useSearch } from "@tanstack/react-router";
import { Bookmark, Ellipsis, Star, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { fieldErrors } from "@/api/errors";
import { useAction } from "@/api/useAction";
import { useWholeList } from "@/api/usePages";
import {
  DeleteSavedViewDocument,
  type SavedViewFieldsFragment,
  SavedViewsDocument,
  SaveViewDocument,
} from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { RequestError } from "@/ui/ErrorNote";
import { TextField } from "@/ui/Field";
import { FormDialog } from "@/ui/FormDialog";
import { Menu, MenuItem } from "@/ui/Menu";
import { Problems } from "@/ui/Problems";
import { Toggles } from "@/ui/Toggles";
import { viewSearch, viewText } from "./search";

const ALL = { id: "", name: "All sessions", search: "", preferred: false };

/** The lists that the reader has saved, and what saves the present one. `columns` are those that it shows. */
export function SavedViews({ columns }: { columns: string }) {
  const search = useSearch({ from: "/app/sessions" });
  const navigate = useNavigate({ from: "/sessions" });
  const views = useWholeList(SavedViewsDocument, (data) => data.savedViews);
  const [dialog, setDialog] = useState<SavedViewFieldsFragment | "new" | null>(null);
  const save = useAction(SaveViewDocument);
  const remove = useAction(DeleteSavedViewDocument);
  const present = viewText(search);
  const shown = [ALL, ...views.nodes].find((view) => view.search === present);
  const open = (view: { search: string }) =>
    void navigate({
      search: view.search === "" ? { view: "all" } : viewSearch(view.search),
      replace: true,
    });

  // Who comes to the list without asking for anything gets the view that it is to begin with.
  const fresh = useRef(Object.keys(search).length === 0);
  const preferred = views.nodes.find((view) => view.preferred);
  useEffect(() => {
    if (views.loading || views.error || !fresh.current) return;
    fresh.current = false;
    if (preferred && present === "")
      void navigate({ search: viewSearch(preferred.search), replace: true });
  }, [views.loading, views.error, preferred, present, navigate]);

  if (views.nodes.length === 0 && present === "" && !views.error) return null;
  const change = async (view: SavedViewFieldsFragment) => {
    const { name, search, preferred } = view;
    await save.run({ id: view.id, input: { name, search, preferred: !preferred } });
    views.reload();
  };
  const forget = async ({ id }: SavedViewFieldsFragment) => {
    if (await remove.run({ id })) views.reload();
  };
  return (
    <div className="flex flex-wrap items-center gap-x-1 gap-y-1 border-b border-line px-4 py-1.5 sm:px-6">
      <Toggles
        label="Saved views"
        options={[ALL, ...views.nodes]}
        words={({ name }) => name}
        pressed={(view) => view === shown}
        onPress={open}
      />
      {shown && shown !== ALL && (
        <Menu
          align="start"
          trigger={
            <button
              type="button"
              aria-label={`Options of ${shown.name}`}
              className="rounded-md p-1.5 text-ink-3 hover:bg-hover hover:text-ink"
            >
              <Ellipsis size={15} aria-hidden />
            </button>
          }
        >
          <MenuItem icon={<Bookmark size={14} />} onSelect={() => setDialog(shown)}>
            Rename
          </MenuItem>
          <MenuItem icon={<Star size={14} />} onSelect={() => void change(shown)}>
            {shown.preferred ? "Don't open by default" : "Open by default"}
          </MenuItem>
          <MenuItem icon={<Trash2 size={14} />} onSelect={() => void forget(shown)}>
            Delete
          </MenuItem>
        </Menu>
      )}
      {!shown && (
        <Button look="ghost" onClick={() => setDialog("new")}>
          <Bookmark size={14} aria-hidden />
          Save view
        </Button>
      )}
      <RequestError error={views.error} onRetry={views.reload} />
      <Problems of={save} />
      <Problems of={remove} />
      {dialog && (
        <ViewDialog
          view={
            dialog === "new"
              ? { id: null, name: "", search: viewText(search, columns), preferred: false }
              : dialog
          }
          onSaved={(view) => {
            views.reload();
            open(view);
          }}
          onClose={() => setDialog(null)}
        />
      )}
    </div>
  );
}

interface ViewDialogProps {
  /** Without an id it is a new one. */
  view: Omit<SavedViewFieldsFragment, "id" | "__typename"> & { id: string | null };
  onSaved: (view: { search: string }) => void;
  onClose: () => void;
}

function ViewDialog({ view, onSaved, onClose }: ViewDialogProps) {
  const [name, setName] = useState(view.name);
  const [preferred, setPreferred] = useState(view.preferred);
  const save = useAction(SaveViewDocument);
  const submit = async () => {
    const { search } = view;
    const saved = await save.run({ id: view.id, input: { name: name.trim(), search, preferred } });
    if (saved) onSaved(view);
    return saved;
  };
  return (
    <FormDialog
      title={view.id === null ? "Save view" : "Rename view"}
      action="Save"
      state={save}
      fields={["name"]}
      disabled={name.trim() === ""}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        errors={fieldErrors(save.refusals, "name")}
        hint="Filters, order and columns are saved with it. Only you see it."
        maxLength={60}
        value={name}
        onChange={setName}
      />
      <label className="flex items-center gap-2 text-sm">
        <input
          type="checkbox"
          className="size-3.5 accent-accent"
          checked={preferred}
          onChange={(event) => setPreferred(event.target.checked)}
        />
        Open by default
      </label>
    </FormDialog>
  );
}
