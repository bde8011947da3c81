import { Download } from "lucide-react";
import { useState } from "react";
import { IconButton } from "@/ui/Button";
import { download } from "@/ui/download";
import { Menu, MenuItem, MenuLabel } from "@/ui/Menu";

interface ExportMenuProps {
  sessionId: string;
  title: string;
}

/** Saves a session, all of it, as a file. */
export function ExportMenu({ sessionId, title }: ExportMenuProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  const save = async (format: "md" | "jsonl") => {
    setBusy(true);
    setProblem(null);
    try {
      const [{ readLog }, { toJsonLines, toMarkdown }] = await Promise.all([
        import("./readLog"),
        import("./formats"),
      ]);
      const log = await readLog(sessionId);
      download(
        `${sessionId}.${format}`,
        format === "md" ? toMarkdown(title, log) : toJsonLines(log),
      );
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "The export failed. Try again.");
    }
    setBusy(false);
  };

  return (
    <>
      {problem !== null && (
        <span role="alert" className="text-xs text-bad wrap-anywhere">
          {problem}
        </span>
      )}
      <Menu
        trigger={
          <IconButton label={busy ? "Exporting…" : "Export"} disabled={busy}>
            <Download size={16} aria-hidden />
          </IconButton>
        }
      >
        <MenuLabel>Export</MenuLabel>
        <MenuItem onSelect={() => void save("md")}>Conversation (Markdown)</MenuItem>
        <MenuItem onSelect={() => void save("jsonl")}>Events (JSON Lines)</MenuItem>
      </Menu>
    </>
  );
}
