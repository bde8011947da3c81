import { Link } from "@tanstack/react-router";
import { PageHeader } from "@/ui/PageHeader";
import { GUIDES } from "./guides";

/** All guides, with what each is about. */
export function DocsPage() {
  return (
    <>
      <PageHeader title="Docs" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ul aria-label="Guides" className="mx-auto max-w-3xl divide-y divide-line p-4 sm:p-6">
          {GUIDES.map(({ name, title, about }) => (
            <li key={name} className="relative rounded-md px-2 py-2.5 hover:bg-hover">
              <Link
                to="/docs/$guide"
                params={{ guide: name }}
                className="text-sm font-medium after:absolute after:inset-0"
              >
                {title}
              </Link>
              <p className="text-xs text-ink-2">{about}</p>
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}
