import { ChevronRight, File, Folder } from "lucide-react";
import { useState } from "react";
import { describeError } from "@/api/errors";
import { useFresh, useReloadOn } from "@/api/useFresh";
import { SessionFilesDocument, type SessionFilesQuery } from "@/gql/graphql";
import { classes } from "@/ui/classes";
import { ErrorNote } from "@/ui/ErrorNote";
import { formatBytes } from "@/ui/format";
import { Spinner } from "@/ui/Loading";
import { FileDialog } from "./FileDialog";
import { Panel } from "./Panel";

const ROOT = "/workspace";

interface FilesPanelProps {
  sessionId: string;
  version: number;
}

export function FilesPanel({ sessionId, version }: FilesPanelProps) {
  const [shown, setShown] = useState<string | null>(null);
  return (
    <Panel title="Files">
      <Directory sessionId={sessionId} version={version} path={ROOT} onOpen={setShown} />
      {shown !== null && (
        <FileDialog
          sessionId={sessionId}
          path={shown}
          version={version}
          onClose={() => setShown(null)}
        />
      )}
    </Panel>
  );
}

interface DirectoryProps extends FilesPanelProps {
  path: string;
  onOpen: (path: string) => void;
}

/** One level of the tree; what is below is read when it is unfolded. */
function Directory({ sessionId, version, path, onOpen }: DirectoryProps) {
  const { data, error, fetching, reload } = useFresh(SessionFilesDocument, { id: sessionId, path });
  useReloadOn(version, reload);
  const files = data?.session?.files;
  if (error) return <ErrorNote>{describeError(error)}</ErrorNote>;
  if (!files) return fetching ? <Spinner /> : null;
  if (files.length === 0) {
    return (
      <p className="text-sm text-ink-3">{path === ROOT ? "No files yet." : "Empty folder."}</p>
    );
  }
  const sorted = [...files].sort(
    (a, b) => Number(b.directory) - Number(a.directory) || a.path.localeCompare(b.path),
  );
  return (
    <ul className="-mx-1.5">
      {sorted.map((file) => (
        <Entry key={file.path} file={file} {...{ sessionId, version, onOpen }} />
      ))}
    </ul>
  );
}

interface EntryProps extends FilesPanelProps {
  file: NonNullable<SessionFilesQuery["session"]>["files"][number];
  onOpen: (path: string) => void;
}

function Entry({ file, sessionId, version, onOpen }: EntryProps) {
  const [unfolded, setUnfolded] = useState(false);
  const name = file.path.slice(file.path.lastIndexOf("/") + 1);
  return (
    <li>
      <button
        type="button"
        aria-expanded={file.directory ? unfolded : undefined}
        onClick={() => (file.directory ? setUnfolded(!unfolded) : onOpen(file.path))}
        className="flex w-full items-center gap-1.5 rounded px-1.5 py-1 text-left text-sm hover:bg-hover"
      >
        <ChevronRight
          size={13}
          aria-hidden
          className={classes(
            "shrink-0 text-ink-3 transition-transform",
            unfolded && "rotate-90",
            !file.directory && "invisible",
          )}
        />
        {file.directory ? (
          <Folder size={14} className="shrink-0 text-ink-3" aria-hidden />
        ) : (
          <File size={14} className="shrink-0 text-ink-3" aria-hidden />
        )}
        <span className="min-w-0 flex-1 truncate">{name}</span>
        {!file.directory && (
          <span className="text-xs text-ink-3 tabular-nums">{formatBytes(file.size)}</span>
        )}
      </button>
      {unfolded && (
        <div className="ml-4.5 border-l border-line pl-1.5">
          <Directory sessionId={sessionId} version={version} path={file.path} onOpen={onOpen} />
        </div>
      )}
    </li>
  );
}
