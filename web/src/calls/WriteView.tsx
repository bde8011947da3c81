import { CallText } from "./CallText";
import { FileChange, TextChange } from "./FileChange";
import { useFileNow } from "./useFileNow";

interface WriteViewProps {
  path: string;
  content: string;
  sessionId: string | undefined;
}

/** A file that is written as a whole: against the file as it is now where that is known, else the text itself. */
export function WriteView({ path, content, sessionId }: WriteViewProps) {
  const now = useFileNow(sessionId, path);
  if (now.state === "text" && now.content !== content) {
    return (
      <FileChange path={path} note="Replaces the file">
        <TextChange before={now.content} after={content} />
      </FileChange>
    );
  }
  return (
    <FileChange path={path} note={noteOf(now.state)}>
      {now.state === "missing" ? (
        <TextChange before="" after={content} />
      ) : (
        <div className="px-2.5 py-1.5">
          {content === "" ? (
            <p className="text-xs text-ink-3">empty</p>
          ) : (
            <CallText text={content} />
          )}
        </div>
      )}
    </FileChange>
  );
}

function noteOf(state: ReturnType<typeof useFileNow>["state"]): string | undefined {
  if (state === "missing") return "New file";
  if (state === "text") return "The file has this content already";
  if (state === "binary") return "Replaces a file that isn't text";
  return undefined;
}
