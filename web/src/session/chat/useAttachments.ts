import { useEffect, useRef, useState } from "react";
import { newIdempotencyKey } from "@/api/idempotency";
import { useStoredState } from "@/ui/useStoredState";
import { IMAGE_TYPES, imageProblem, type UploadedImage, uploadImage } from "./images";
import { type AttachedFile, fileProblem, readText } from "./textFiles";

export type Attachment = UploadedImage | AttachedFile;

/** A file that is being uploaded or read, or one for which that has failed. */
export interface PendingFile {
  key: string;
  name: string;
  /** Null while that lasts. */
  problem: string | null;
}

const NONE: Attachment[] = [];

/** What the message that is being written will be sent with. What is attached survives a reload of the page. */
export function useAttachments(sessionId: string) {
  const [attached, setAttached] = useStoredState(
    localStorage,
    `ostler.attachments.${sessionId}`,
    NONE,
  );
  const [pending, setPending] = useState<readonly PendingFile[]>([]);
  const current = useRef(attached);
  current.current = attached;
  const uploads = useRef(new Map<string, AbortController>());
  // Images that are on their way count as well.
  const uploading = useRef(new Map<string, File>());
  useEffect(() => {
    const running = uploads.current;
    return () => {
      for (const upload of running.values()) upload.abort();
    };
  }, []);

  const set = (next: Attachment[]) => {
    current.current = next;
    setAttached(next.length === 0 ? NONE : next);
  };
  const drop = (key: string) => {
    uploads.current.get(key)?.abort();
    uploads.current.delete(key);
    uploading.current.delete(key);
    setPending((before) => before.filter((each) => each.key !== key));
  };
  const attach = async (file: File) => {
    const key = newIdempotencyKey();
    const isImage = IMAGE_TYPES.includes(file.type);
    const problem = isImage
      ? imageProblem(file, [
          ...current.current.filter((each) => each.kind === "image"),
          ...uploading.current.values(),
        ])
      : fileProblem(file);
    setPending((before) => [...before, { key, name: file.name, problem }]);
    if (problem) return;
    const upload = new AbortController();
    uploads.current.set(key, upload);
    if (isImage) uploading.current.set(key, file);
    const outcome = isImage ? await uploadImage(file, upload.signal) : await readText(key, file);
    if (upload.signal.aborted) return;
    if ("attachment" in outcome) {
      drop(key);
      set([...current.current, outcome.attachment]);
      return;
    }
    uploading.current.delete(key);
    setPending((before) =>
      before.map((each) => (each.key === key ? { ...each, problem: outcome.problem } : each)),
    );
  };

  return {
    attached,
    pending,
    /** A message that is sent now would lack what is still on its way. */
    uploading: pending.some(({ problem }) => problem === null),
    attach: (files: readonly File[]) => {
      for (const file of files) void attach(file);
    },
    remove: (attachment: Attachment) => set(attached.filter((each) => each !== attachment)),
    drop,
    clear: () => set([]),
  };
}
