import type { Client } from "urql";
import { describeError } from "@/api/errors";
import { WriteSessionFileDocument } from "@/gql/graphql";

/** A text file that was put among the session's files, where tools read it. */
export interface UploadedFile {
  kind: "file";
  path: string;
  name: string;
}

const MOST_BYTES = 500_000;

/** Says why a file can't be sent by its size; null when it can. */
export function fileProblem({ name, size }: { name: string; size: number }): string | null {
  if (size > MOST_BYTES) return `${name} is larger than 500 KB, the limit of text files.`;
  return size === 0 ? `${name} is empty.` : null;
}

/** The content of a file as text; null for one that holds something else. */
export async function textIn(file: Blob): Promise<string | null> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** Where a file is put: in a folder of its own, so that it replaces nothing. */
export function pathFor(key: string, name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what paths may not hold.
  const clean = name.replace(/[\\/\u0000-\u001f\u007f]/g, "_").slice(-60);
  return `/workspace/uploads/${key.slice(0, 8)}/${/^\.*$/.test(clean) ? "file" : clean}`;
}

/** Puts a text file among the files of a session. The same key writes the same file again. */
export async function uploadText(
  client: Client,
  sessionId: string,
  key: string,
  file: File,
): Promise<{ attachment: UploadedFile } | { problem: string }> {
  const content = await textIn(file);
  if (content === null) {
    return { problem: `${file.name} is neither text nor a PNG, JPEG, GIF or WebP image.` };
  }
  const path = pathFor(key, file.name);
  const { data, error } = await client
    .mutation(WriteSessionFileDocument, { sessionId, path, content })
    .toPromise();
  const refused = data?.writeSessionFile.userErrors[0];
  if (data?.writeSessionFile.file) return { attachment: { kind: "file", path, name: file.name } };
  return {
    problem:
      refused?.message ?? (error ? describeError(error) : "The server gave no answer. Try again."),
  };
}

/** The text of a message with the files that come with it. */
export function withFiles(text: string, files: readonly UploadedFile[]): string {
  const names = files.map(({ path }) => `Attached file: ${path}`).join("\n");
  return [text, names].filter((each) => each !== "").join("\n\n");
}
