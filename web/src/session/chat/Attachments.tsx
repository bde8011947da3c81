import { CircleAlert, LoaderCircle, X } from "lucide-react";
import type { UploadedImage } from "./images";
import type { PendingImage } from "./useAttachments";

interface AttachmentsProps {
  images: readonly UploadedImage[];
  pending: readonly PendingImage[];
  onRemove: (id: string) => void;
  onDrop: (key: string) => void;
}

/** The images that a message will be sent with. */
export function Attachments({ images, pending, onRemove, onDrop }: AttachmentsProps) {
  if (images.length === 0 && pending.length === 0) return null;
  return (
    <ul aria-label="Attached images" className="flex flex-wrap gap-2 px-3 pt-3">
      {images.map(({ id, url, name }) => (
        <li key={id} className="relative">
          <img
            src={url}
            alt={name || "Attached"}
            className="size-16 rounded-lg border border-line object-cover"
          />
          <RemoveButton
            label={`Remove ${name || "the image"}`}
            className="absolute -top-1.5 -right-1.5"
            onClick={() => onRemove(id)}
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
