import { useNavigate } from "@tanstack/react-router";
import {
  Bot,
  Building2,
  Cpu,
  Keyboard,
  Layers,
  MessageSquare,
  Moon,
  Plus,
  Search,
  Sun,
} from "lucide-react";
import { type KeyboardEvent, type ReactNode, useContext, useState } from "react";
import { useQuery } from "urql";
import { PaletteTargetsDocument } from "@/gql/graphql";
import { offeredTabs } from "@/org/tabs";
import { MatchLine } from "@/sessions/Snippet";
import { classes } from "@/ui/classes";
import { Dialog } from "@/ui/Dialog";
import { useDebounced } from "@/ui/useDebounced";
import { OpenShortcutsContext } from "./shortcuts";
import { setTheme } from "./theme";
import { useOfferedPages } from "./useOfferedPages";
import { useMay, useViewer } from "./viewer";

interface Command {
  id: string;
  label: string;
  hint?: string;
  /** Where the words were found. */
  found?: ReactNode;
  icon: ReactNode;
  run: () => void;
}

export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const commands = useCommands(text);
  const current = Math.min(chosen, commands.length - 1);

  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };

  const steer = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setChosen(Math.min(current + 1, commands.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(current - 1, 0));
    else if (event.key === "Enter" && !event.nativeEvent.isComposing) run(commands[current]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog open onClose={onClose} title="Go to" shape="bare">
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Search size={16} className="text-ink-3" aria-hidden />
        <input
          role="combobox"
          aria-expanded
          aria-controls="palette-commands"
          aria-activedescendant={commands[current] ? `palette-${commands[current].id}` : undefined}
          aria-label="Search pages, agents, sessions and more"
          placeholder="Search pages, agents, sessions…"
          className="h-12 w-full bg-transparent text-base outline-none"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
          }}
          onKeyDown={steer}
        />
        <kbd className="kbd">esc</kbd>
      </div>
      <div id="palette-commands" role="listbox" className="max-h-[50vh] overflow-y-auto p-1.5">
        {commands.length === 0 && (
          <p className="px-3 py-6 text-center text-sm text-ink-3">No results.</p>
        )}
        {commands.map((command, index) => (
          <button
            type="button"
            key={command.id}
            id={`palette-${command.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            ref={
              index === current ? (element) => element?.scrollIntoView({ block: "nearest" }) : null
            }
            onMouseMove={() => setChosen(index)}
            onClick={() => run(command)}
            className={classes(
              "flex w-full items-center gap-3 rounded-md px-2.5 py-2 text-left text-sm",
              index === current && "bg-hover",
            )}
          >
            <span className="text-ink-3">{command.icon}</span>
            <span className="min-w-0 flex-1 truncate">
              {command.label}
              {command.found && (
                <span className="block truncate text-xs text-ink-3">{command.found}</span>
              )}
            </span>
            {command.hint && <span className="truncate text-xs text-ink-3">{command.hint}</span>}
          </button>
        ))}
      </div>
    </Dialog>
  );
}

function useCommands(text: string): Command[] {
  const navigate = useNavigate();
  const search = useDebounced(text.trim(), 150);
  const [{ data }] = useQuery({
    query: PaletteTargetsDocument,
    variables: { search: search || null, q: search, searching: search !== "" },
  });
  const wanted = text.trim().toLowerCase();
  const matches = (label: string) => label.toLowerCase().includes(wanted);
  const { permissions } = useViewer();
  const offered = useOfferedPages();
  const openShortcuts = useContext(OpenShortcutsContext);
  const mayRun = useMay("SESSIONS_WRITE");
  const mayCreateAgents = useMay("CATALOG_WRITE");
  const pages: (Command | false)[] = [
    mayRun && {
      id: "new-session",
      label: "New session",
      icon: <Plus size={16} />,
      run: () => void navigate({ to: "/sessions", search: { new: "" } }),
    },
    mayCreateAgents && {
      id: "new-agent",
      label: "New agent",
      icon: <Plus size={16} />,
      run: () => void navigate({ to: "/agents/new" }),
    },
    ...offered.map(({ to, label, icon: Icon }) => ({
      id: label.toLowerCase(),
      label,
      icon: <Icon size={16} />,
      run: () => void navigate({ to }),
    })),
    ...offeredTabs(permissions)
      .filter(({ to }) => to !== "/organization")
      .map(({ to, label }) => ({
        id: to.replaceAll("/", "-"),
        label,
        hint: "Organization",
        icon: <Building2 size={16} />,
        run: () => void navigate({ to }),
      })),
    {
      id: "shortcuts",
      label: "Keyboard shortcuts",
      icon: <Keyboard size={16} />,
      run: openShortcuts,
    },
    { id: "light", label: "Light theme", icon: <Sun size={16} />, run: () => setTheme("light") },
    { id: "dark", label: "Dark theme", icon: <Moon size={16} />, run: () => setTheme("dark") },
  ];
  // The server has searched already, but perhaps not yet for what is typed now.
  const found = (data?.agents.nodes ?? []).filter(
    (agent) => matches(agent.displayName) || matches(agent.name),
  );
  const agents = found.map((agent) => ({
    id: agent.id,
    label: agent.displayName,
    hint: "Agent",
    icon: <Bot size={16} />,
    run: () => void navigate({ to: "/agents/$agentId", params: { agentId: agent.id } }),
  }));
  const harnesses = (data?.harnesses.nodes ?? [])
    .filter((harness) => matches(harness.displayName) || matches(harness.name))
    .map((harness) => ({
      id: harness.id,
      label: harness.displayName,
      hint: "Harness",
      icon: <Layers size={16} />,
      run: () => void navigate({ to: "/harnesses/$harnessId", params: { harnessId: harness.id } }),
    }));
  const providers = (data?.providers.nodes ?? [])
    .filter((provider) => matches(provider.name))
    .map((provider) => ({
      id: provider.id,
      label: provider.name,
      hint: "Provider",
      icon: <Cpu size={16} />,
      run: () => void navigate({ to: "/models/$providerId", params: { providerId: provider.id } }),
    }));
  // The server finds words anywhere in titles, customer keys and messages, and ids.
  const sessions = (data?.sessions.nodes ?? []).map((session) => ({
    id: session.id,
    label: session.title ?? "Untitled session",
    hint: session.agent?.displayName ?? "Session",
    icon: <MessageSquare size={16} />,
    ...(session.match && { found: <MatchLine match={session.match} /> }),
    run: () =>
      void navigate({
        to: "/sessions/$sessionId",
        params: { sessionId: session.id },
        search: session.match ? { message: session.match.message.id } : {},
      }),
  }));
  return [
    ...pages.filter((page) => page !== false).filter(({ label }) => matches(label)),
    ...agents,
    ...sessions,
    // On a page of their own they are few enough to see; here they are for those who type a name.
    ...(wanted === "" ? [] : [...harnesses, ...providers]),
  ];
}
