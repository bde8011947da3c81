import { Suspense } from "react";
import { lazy } from "@/api/reachable";

const Markdown = lazy(() => import("./Markdown"));

/** Markdown, and the plain text until its renderer is there. */
export function MarkdownText({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className="whitespace-pre-wrap wrap-anywhere">{text}</div>}>
      <Markdown text={text} />
    </Suspense>
  );
}
