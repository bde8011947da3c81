import { formatCount } from "./format";

interface ShowAllProps {
  count: number;
  /** What is counted. */
  of: string;
  onClick: () => void;
}

/** The rest of something long, for those who ask for it. */
export function ShowAll({ count, of, onClick }: ShowAllProps) {
  return (
    <button
      type="button"
      className="m-2 rounded text-xs font-medium text-ink-2 underline underline-offset-2 hover:text-ink"
      onClick={onClick}
    >
      Show all {formatCount(count)} {of}
    </button>
  );
}
