import { refreshSignIn } from "@/api/refresh";

/** An image that the server holds and a message can show. */
export interface UploadedImage {
  id: string;
  url: string;
  name: string;
}

export type UploadOutcome =
  | { kind: "uploaded"; image: UploadedImage }
  | { kind: "failed"; problem: string };

export const IMAGE_TYPES: readonly string[] = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
];
const MOST_BYTES = 20_000_000;

/** Says why the server would refuse a file; null when it would take it. The server looks at its content again. */
export function imageProblem(file: { name: string; type: string; size: number }): string | null {
  if (!IMAGE_TYPES.includes(file.type)) {
    return `${file.name} is no PNG, JPEG, GIF or WebP image.`;
  }
  if (file.size > MOST_BYTES) return `${file.name} is larger than 20 MB.`;
  return null;
}

/** Sends a file to the server. A sign-in that has expired is renewed once. */
export async function uploadImage(file: File, signal: AbortSignal): Promise<UploadOutcome> {
  try {
    let response = await post(file, signal);
    if (response.status === 401 && (await refreshSignIn()) === "refreshed") {
      response = await post(file, signal);
    }
    return await outcomeOf(response, file.name);
  } catch {
    return { kind: "failed", problem: "The server can't be reached. Try again." };
  }
}

function post(file: File, signal: AbortSignal): Promise<Response> {
  return fetch(`/v1/images?name=${encodeURIComponent(file.name)}`, {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": file.type, accept: "application/json" },
    body: file,
    signal,
  });
}

export async function outcomeOf(response: Response, name: string): Promise<UploadOutcome> {
  const answer = (await response.json().catch(() => null)) as unknown;
  if (response.ok && isImage(answer)) {
    return { kind: "uploaded", image: { id: answer.id, url: answer.url, name } };
  }
  return { kind: "failed", problem: problemOf(answer) ?? statusProblem(response.status) };
}

function isImage(answer: unknown): answer is { id: string; url: string } {
  return (
    typeof answer === "object" &&
    answer !== null &&
    "id" in answer &&
    typeof answer.id === "string" &&
    "url" in answer &&
    typeof answer.url === "string"
  );
}

function problemOf(answer: unknown): string | null {
  const { message, requestId } = (answer ?? {}) as { message?: unknown; requestId?: unknown };
  if (typeof message !== "string") return null;
  return typeof requestId === "string" ? `${message} (request ${requestId})` : message;
}

function statusProblem(status: number): string {
  switch (status) {
    case 401:
      return "Your sign-in has ended. Sign in and try again.";
    case 413:
      return "The image is larger than the server takes.";
    case 415:
      return "The server takes PNG, JPEG, GIF and WebP images only.";
    default:
      return `The server did not take the image (status ${status}).`;
  }
}

/** The images among what was pasted or dropped. */
export function imageFiles(data: { files: Iterable<File> } | null): File[] {
  return data ? [...data.files].filter(({ type }) => type.startsWith("image/")) : [];
}
