import { Download } from "lucide-react";
import type { MouseEvent } from "react";
import { useClient } from "urql";
import { ViewerDocument } from "@/gql/graphql";
import { buttonClasses } from "./Button";

interface CsvLinkProps {
  of: "usage" | "audit";
  parameters: Readonly<Record<string, string>>;
  children: string;
}

/** Downloads what is shown as a table for spreadsheets. */
export function CsvLink({ of, parameters, children }: CsvLinkProps) {
  const client = useClient();
  const href = `/v1/${of}.csv?${new URLSearchParams(parameters)}`;
  const follow = async (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    // The browser follows a link with the cookies that it has; a request renews those that have expired.
    await client.query(ViewerDocument, {}, { requestPolicy: "network-only" }).toPromise();
    location.assign(href);
  };
  return (
    <a
      href={href}
      download
      className={buttonClasses("secondary")}
      onClick={(event) => void follow(event)}
    >
      <Download size={14} aria-hidden />
      {children}
    </a>
  );
}
