import { Download } from "lucide-react";
import { useFresh, useReloadOn } from "@/api/useFresh";
import { SessionFileDocument, type SessionFileQuery } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";
import { download } from "@/ui/download";
import { RequestError } from "@/ui/ErrorNote";
import { formatBytes } from "@/ui/format";
import { Spinner } from "@/ui/Loading";
import { Pre } from "@/ui/Pre";
import { RelativeTime } from "@/ui/Time";

type SessionFile = NonNullable<NonNullable<SessionFileQuery["session"]>["file"]>;

interface FileDialogProps {
  sessionId: string;
  path: string;
  version: number;
  onClose: () => void;
}

export function FileDialog({ sessionId, path, version, onClose }: FileDialogProps) {
  const { data, error, fetching, reload } = useFresh(SessionFileDocument, { id: sessionId, path });
  useReloadOn(version, reload);
  const file = data?.session?.file;
  return (
    <Dialog open onClose={onClose} title={path}>
      <div className="space-y-3 p-4">
        <RequestError error={error} />
        {!file && fetching && <Spinner />}
        {!file && !fetching && !error && (
          <p className="text-sm text-ink-3">This file was deleted.</p>
        )}
        {file && (
          <>
            <div className="flex items-center justify-between gap-3 text-xs text-ink-3">
              <span>
                {formatBytes(file.size)} · changed <RelativeTime time={file.updatedAt} />
              </span>
              <Button onClick={() => save(file)}>
                <Download size={14} aria-hidden />
                Download
              </Button>
            </div>
            {file.encoding === "base64" ? (
              <p className="text-sm text-ink-2">This file isn't text. Download it to view it.</p>
            ) : (
              <Pre className="overflow-x-auto rounded-lg border border-line bg-sunken p-3 font-mono text-xs leading-5">
                {file.content}
              </Pre>
            )}
          </>
        )}
      </div>
    </Dialog>
  );
}

function save(file: SessionFile): void {
  const content = file.content ?? "";
  const bytes =
    file.encoding === "base64"
      ? Uint8Array.from(atob(content), (character) => character.charCodeAt(0))
      : new TextEncoder().encode(content);
  download(file.path.slice(file.path.lastIndexOf("/") + 1), bytes);
}
