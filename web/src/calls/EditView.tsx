import { FileChange, TextChange } from "./FileChange";
import { type Replacement, replaced } from "./readCall";
import { useFileNow } from "./useFileNow";

interface EditViewProps {
  path: string;
  replacements: readonly Replacement[];
  sessionId: string | undefined;
}

/** Edits of a file: within the file as it is now where that is known, else each by itself. */
export function EditView({ path, replacements, sessionId }: EditViewProps) {
  const now = useFileNow(sessionId, path);
  const after = now.state === "text" ? replaced(now.content, replacements) : null;
  if (now.state === "text" && after !== null) {
    return (
      <FileChange path={path}>
        <TextChange before={now.content} after={after} />
      </FileChange>
    );
  }
  return (
    <FileChange
      path={path}
      note={
        now.state === "unknown" ? undefined : (
          <span className="text-warn">
            {now.state === "missing"
              ? "There is no such file now, so the edit would fail."
              : "The edit doesn't fit the file as it is now, so it would fail."}
          </span>
        )
      }
    >
      <ul className="divide-y divide-line">
        {replacements.map(({ old, new: next, all }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: edits have no identity but their place.
          <li key={at}>
            {all && <p className="px-2.5 pt-1.5 text-xs text-ink-3">Every occurrence of</p>}
            <TextChange before={old} after={next} />
          </li>
        ))}
      </ul>
    </FileChange>
  );
}
