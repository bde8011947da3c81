import { createContext, useContext, useEffect } from "react";

/** What the page at hand is about, such as the title of a session. */
export interface Subject {
  name: string;
  /** Something on it is working. */
  working: boolean;
}

export const SubjectContext = createContext<(subject: Subject | null) => void>(() => {});

/** Names what the page is about in the window's title; null names the page alone. */
export function useSubject(name: string | null, working = false): void {
  const set = useContext(SubjectContext);
  useEffect(() => {
    set(name === null ? null : { name, working });
    return () => set(null);
  }, [set, name, working]);
}

/** The title of a window: "● (2) Refund #1000 · Sessions · Ostler". */
export function windowTitle(
  section: string | null,
  subject: Subject | null,
  waiting: number | null,
): string {
  const names = [subject?.name, section].filter((each) => each && each !== "");
  return [
    subject?.working ? "● " : "",
    waiting ? `(${waiting}) ` : "",
    [...new Set(names), "Ostler"].join(" · "),
  ].join("");
}
