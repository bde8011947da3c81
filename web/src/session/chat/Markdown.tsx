import { memo, type ReactNode, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeHighlight from "rehype-highlight";
import remarkGfm from "remark-gfm";
import { CopyButton } from "@/ui/CopyButton";
import { Pre } from "@/ui/Pre";

/** How blocks of code and tables look, in any Markdown. */
export const blocks: Pick<Components, "pre" | "table"> = {
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    <div
      className="table-scroll"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
      tabIndex={0}
    >
      <table>{children}</table>
    </div>
  ),
};

// What a model writes is not trusted: HTML in it is shown as text, links lose every scheme that could run code (the
// library's own rule), and pictures become links, so that reading a message contacts nobody.
const components: Components = {
  ...blocks,
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  img: ({ src, alt }) => (
    <a
      href={typeof src === "string" ? src : undefined}
      target="_blank"
      rel="noopener noreferrer nofollow"
    >
      {alt || "image"}
    </a>
  ),
};

function CodeBlock({ children }: { children: ReactNode }) {
  const block = useRef<HTMLDivElement>(null);
  return (
    <div ref={block} className="group/code relative">
      <Pre>{children}</Pre>
      <CopyButton
        text={() => block.current?.querySelector("pre")?.textContent ?? ""}
        label="Copy code"
        className="absolute top-1 right-1 bg-sunken opacity-0 group-hover/code:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-100"
      />
    </div>
  );
}

const remarkPlugins = [remarkGfm];
// Blocks that name their language are coloured, in the classes of markdown.css.
const rehypePlugins = [rehypeHighlight];

const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown
        remarkPlugins={remarkPlugins}
        rehypePlugins={rehypePlugins}
        components={components}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
});

export default Markdown;
