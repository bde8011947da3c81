import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Pre } from "@/ui/Pre";

// What a model writes is not trusted: HTML in it is shown as text, links lose every scheme that could run code (the
// library's own rule), and pictures become links, so that reading a message contacts nobody.
const components: Components = {
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
  pre: ({ children }) => <Pre>{children}</Pre>,
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

const plugins = [remarkGfm];

const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

export default Markdown;
