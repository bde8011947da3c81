import { Link } from "@tanstack/react-router";
import { failureFacts } from "./failures";

const LINK = "font-medium underline underline-offset-2";

/** The way to where a failure can be put right; nothing where there is no such place. */
export function FailureRemedy({ code }: { code: string }) {
  switch (failureFacts(code).remedy) {
    case "providers":
      return (
        <Link to="/models" className={LINK}>
          Provider settings
        </Link>
      );
    case "new-session":
      return (
        <Link to="/sessions" search={{ new: "" }} className={LINK}>
          New session
        </Link>
      );
    case null:
      return null;
  }
}
