import { CircleAlert, FileText, LoaderCircle, X } from "lucide-react";
import type { Attachment, PendingFile } from "./useAttachments";

interface AttachmentsProps {
  attached: readonly Attachment[];
  pending: readonly PendingFile[];
  onRemove: (attachment: Attachment) => void;
  onDrop: (key: string) => void;
}

/** The images and files that a message will be sent with. */
export function Attachments({ attached, pending, onRemove, onDrop }: AttachmentsProps) {
  if (attached.length === 0 && pending.length === 0) return null;
  return (
    <ul aria-label="Attachments" className="flex flex-wrap gap-2 px-3 pt-3">
      {attached.map((each) => (
        <li key={each.kind === "image" ? each.id : each.path} className="relative">
          {each.kind === "image" ? (
            <img
              src={each.url}
              alt={each.name || "Attached"}
              className="size-16 rounded-lg border border-line object-cover"
            />
          ) : (
            <span
              title={each.path}
              className="flex h-16 max-w-48 items-center gap-2 rounded-lg border border-line px-3 text-xs"
            >
              <FileText size={16} className="shrink-0 text-ink-3" aria-hidden />
              <span className="line-clamp-3 min-w-0 wrap-anywhere">{each.name}</span>
            </span>
          )}
          <RemoveButton
            label={`Remove ${each.name || "the image"}`}
            className="absolute -top-1.5 -right-1.5"
            onClick={() => onRemove(each)}
          />
        </li>
      ))}
      {pending.map(({ key, name, problem }) => (
        <li
          key={key}
          role={problem === null ? "status" : "alert"}
          className={`flex h-16 max-w-64 items-center gap-2 rounded-lg border px-2.5 text-xs ${
            problem === null ? "border-line text-ink-3" : "border-bad/25 bg-bad-soft text-bad"
          }`}
        >
          {problem === null ? (
            <LoaderCircle size={15} className="shrink-0 animate-spin" aria-hidden />
          ) : (
            <CircleAlert size={15} className="shrink-0" aria-hidden />
          )}
          <span className="line-clamp-3 min-w-0 wrap-anywhere">
            {problem ?? `Uploading ${name}…`}
          </span>
          <RemoveButton label={`Remove ${name}`} onClick={() => onDrop(key)} />
        </li>
      ))}
    </ul>
  );
}

interface RemoveButtonProps {
  label: string;
  className?: string;
  onClick: () => void;
}

function RemoveButton({ label, className = "", onClick }: RemoveButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      onClick={onClick}
      className={`flex size-6 shrink-0 items-center justify-center rounded-full border border-line-strong bg-raised text-ink-2 shadow-card hover:text-ink ${className}`}
    >
      <X size={13} />
    </button>
  );
}
