import { Link, useLocation, useParams } from "@tanstack/react-router";
import { type ComponentProps, useEffect, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeHighlight from "rehype-highlight";
import remarkGfm from "remark-gfm";
import { blocks } from "@/session/chat/Markdown";
import { NotFound } from "@/shell/Fallbacks";
import { Spinner } from "@/ui/Loading";
import { PageHeader, Trail } from "@/ui/PageHeader";
import { GUIDES, guideLink, headingId, readGuide } from "./guides";

/** One of the guides that come with the server. */
export function GuidePage() {
  const { guide } = useParams({ from: "/app/docs/$guide" });
  return <Guide key={guide} name={guide} />;
}

function Guide({ name }: { name: string }) {
  const { hash } = useLocation();
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState<"missing" | Error | null>(null);
  useEffect(() => {
    const reading = readGuide(name);
    if (!reading) setProblem("missing");
    else reading.then(setText, setProblem);
  }, [name]);
  useEffect(() => {
    if (text !== null && hash !== "") document.getElementById(hash)?.scrollIntoView();
  }, [text, hash]);

  if (problem === "missing") return <NotFound />;
  if (problem) throw problem;
  const listed = GUIDES.find((each) => each.name === name)?.title;
  const title = text?.match(/^# (.+)$/m)?.[1] ?? listed ?? "Guide";
  return (
    <>
      <PageHeader
        title={<Trail list={<Link to="/docs">Docs</Link>} name={title} />}
        subject={title}
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto max-w-3xl p-4 sm:p-6">
          {text === null && <Spinner />}
          {text !== null && (
            <div className="markdown">
              <ReactMarkdown
                remarkPlugins={[remarkGfm]}
                rehypePlugins={[rehypeHighlight]}
                components={components}
              >
                {text}
              </ReactMarkdown>
            </div>
          )}
        </div>
      </div>
    </>
  );
}

function GuideLink({ href = "", children }: ComponentProps<"a">) {
  const here = useParams({ from: "/app/docs/$guide" }).guide;
  if (href.startsWith("https://")) {
    return (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    );
  }
  const to = guideLink(href);
  // Such as a source file: only who has those can follow it.
  if (!to) return children;
  return (
    <Link to="/docs/$guide" params={{ guide: to.name ?? here }} hash={to.hash}>
      {children}
    </Link>
  );
}

type Nested = { value?: string; children?: readonly Nested[] };

const textOf = (node: Nested | undefined): string =>
  node?.value ?? node?.children?.map(textOf).join("") ?? "";

const components: Components = {
  ...blocks,
  a: GuideLink,
  // The page has it in its bar.
  h1: () => null,
  h2: ({ node, children }) => <h2 id={headingId(textOf(node))}>{children}</h2>,
  h3: ({ node, children }) => <h3 id={headingId(textOf(node))}>{children}</h3>,
};
