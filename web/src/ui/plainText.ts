/** Text of a message in a line: without the marks of Markdown, which are noise where nothing formats them. It may be cut off anywhere. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/!?\[([^\]]+)\]\([^)]*(?:\)|$)/g, "$1")
    .replace(/(^|\s)#{1,6}\s+/g, "$1")
    .replace(/`+/g, "")
    .replace(/(?<!\w)\*\*(?=\S)|(?<=\S)\*\*(?!\w)/g, "")
    .replace(/(?<![\w*])\*(?=\S)([^*]*[^*\s])\*(?!\w)/g, "$1");
}
