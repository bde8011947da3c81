/** A text file that is put among the session's files, where tools read it, when its message is sent. */
export interface AttachedFile {
  kind: "file";
  path: string;
  name: string;
  content: string;
}

const MOST_BYTES = 500_000;
/** The same in words. */
export const MOST_FILE = "500 KB";

/** Says why a file can't be sent by its size; null when it can. */
export function fileProblem({ name, size }: { name: string; size: number }): string | null {
  if (size > MOST_BYTES) return `${name} is larger than ${MOST_FILE}, the limit of text files.`;
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

/** Reads a file that was picked. The key gives it its place. */
export async function readText(
  key: string,
  file: File,
): Promise<{ attachment: AttachedFile } | { problem: string }> {
  const content = await textIn(file);
  if (content === null) {
    return { problem: `${file.name} is neither text nor a PNG, JPEG, GIF or WebP image.` };
  }
  return {
    attachment: { kind: "file", path: pathFor(key, file.name), name: file.name, content },
  };
}

/** The text of a message with the files that come with it. */
export function withFiles(text: string, files: readonly Pick<AttachedFile, "path">[]): string {
  const names = files.map(({ path }) => `Attached file: ${path}`).join("\n");
  return [text, names].filter((each) => each !== "").join("\n\n");
}
