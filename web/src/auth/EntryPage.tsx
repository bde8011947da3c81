import { type FormEvent, type ReactNode, useEffect } from "react";
import { BrandMark } from "@/shell/Brand";
import { windowTitle } from "@/ui/title";

/** What the pages that need no sign-in look like: one thing to do, below the mark. */
export function EntryPage({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = windowTitle(
      null,
      { name: title.replace(/ to Ostler$/, ""), working: false },
      null,
    );
  }, [title]);
  return (
    <main className="flex min-h-dvh items-center justify-center p-4">
      <div className="w-full max-w-88">
        <div className="mb-8 flex flex-col items-center gap-4 text-center">
          <BrandMark size={40} />
          <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
        </div>
        {children}
      </div>
    </main>
  );
}

/** The form of such a page. */
export function EntryForm({
  onSubmit,
  children,
}: {
  onSubmit: () => Promise<void>;
  children: ReactNode;
}) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void onSubmit();
  };
  return (
    <form onSubmit={submit} className="card space-y-4 p-5">
      {children}
    </form>
  );
}
