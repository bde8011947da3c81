import { useEffect, useRef, useState } from "react";
import { newIdempotencyKey } from "@/api/idempotency";
import { useStoredState } from "@/ui/useStoredState";
import { imageProblem, type UploadedImage, uploadImage } from "./images";

/** A file on its way to the server, or one that did not get there. */
export interface PendingImage {
  key: string;
  name: string;
  /** Null while it is being uploaded. */
  problem: string | null;
}

const NONE: UploadedImage[] = [];

/** The images of the message that is being written. Those that were uploaded survive a reload of the page. */
export function useAttachments(sessionId: string) {
  const [images, setImages] = useStoredState(localStorage, `ostler.images.${sessionId}`, NONE);
  const [pending, setPending] = useState<readonly PendingImage[]>([]);
  const current = useRef(images);
  current.current = images;
  const uploads = useRef(new Map<string, AbortController>());
  useEffect(() => {
    const running = uploads.current;
    return () => {
      for (const upload of running.values()) upload.abort();
    };
  }, []);

  const set = (next: UploadedImage[]) => {
    current.current = next;
    setImages(next.length === 0 ? NONE : next);
  };
  const drop = (key: string) => {
    uploads.current.get(key)?.abort();
    uploads.current.delete(key);
    setPending((before) => before.filter((each) => each.key !== key));
  };
  const attach = async (file: File) => {
    const key = newIdempotencyKey();
    const problem = imageProblem(file);
    setPending((before) => [...before, { key, name: file.name, problem }]);
    if (problem) return;
    const upload = new AbortController();
    uploads.current.set(key, upload);
    const outcome = await uploadImage(file, upload.signal);
    if (upload.signal.aborted) return;
    if (outcome.kind === "uploaded") {
      drop(key);
      set([...current.current, outcome.image]);
      return;
    }
    setPending((before) =>
      before.map((each) => (each.key === key ? { ...each, problem: outcome.problem } : each)),
    );
  };

  return {
    images,
    pending,
    /** A message that is sent now would lack what is still on its way. */
    uploading: pending.some(({ problem }) => problem === null),
    attach: (files: readonly File[]) => {
      for (const file of files) void attach(file);
    },
    remove: (id: string) => set(images.filter((each) => each.id !== id)),
    drop,
    clear: () => set([]),
  };
}
