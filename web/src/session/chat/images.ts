import { refreshSignIn } from "@/api/refresh";

/** An image that the server holds and a message can show. */
export interface UploadedImage {
  kind: "image";
  id: string;
  url: string;
  name: string;
  size: number;
}

export type UploadOutcome = { attachment: UploadedImage } | { problem: string };

export const IMAGE_TYPES: readonly string[] = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
];
const MOST_BYTES = 20_000_000;
/** The same in words. */
export const MOST_IMAGE = "20 MB";
// Of one message.
const MOST_IMAGES = 20;
const MOST_BYTES_IN_ALL = 32_000_000;

/** Says why the server would refuse an image beside those of the message; null when it would take it. The server looks at its content again. */
export function imageProblem(
  { name, size }: { name: string; size: number },
  others: readonly { size: number }[],
): string | null {
  if (size > MOST_BYTES) return `${name} is larger than ${MOST_IMAGE}, the limit of images.`;
  if (others.length >= MOST_IMAGES) return `A message takes ${MOST_IMAGES} images at most.`;
  const all = others.reduce((sum, each) => sum + each.size, size);
  if (all > MOST_BYTES_IN_ALL) return `With ${name} the images would be larger than 32 MB in all.`;
  return null;
}

/** Sends a file to the server. A sign-in that has expired is renewed once. */
export async function uploadImage(file: File, signal: AbortSignal): Promise<UploadOutcome> {
  try {
    let response = await post(file, signal);
    if (response.status === 401 && (await refreshSignIn()) === "refreshed") {
      response = await post(file, signal);
    }
    return await outcomeOf(response, file);
  } catch {
    return { problem: "The server can't be reached. Try again." };
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

export async function outcomeOf(
  response: Response,
  { name, size }: { name: string; size: number },
): Promise<UploadOutcome> {
  const answer = (await response.json().catch(() => null)) as unknown;
  if (response.ok && isImage(answer)) {
    return { attachment: { kind: "image", id: answer.id, url: answer.url, name, size } };
  }
  return { problem: problemOf(answer) ?? statusProblem(response.status) };
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
