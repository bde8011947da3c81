import { useId, useState } from "react";
import { useQuery } from "urql";
import { useFresh } from "@/api/useFresh";
import {
  type BudgetSubject,
  BudgetSubjectsDocument,
  SessionFormOptionsDocument,
  SessionsDocument,
} from "@/gql/graphql";
import { useMay, useViewer } from "@/shell/viewer";
import { classes } from "@/ui/classes";
import { SelectField, TextField } from "@/ui/Field";
import { useDebounced } from "@/ui/useDebounced";
import { SUBJECT_LABELS, SUBJECTS } from "./words";

interface SubjectPickerProps {
  subject: BudgetSubject;
  /** The id, or for CUSTOMER the key; empty for none. */
  value: string;
  onChange: (subject: BudgetSubject, value: string) => void;
  errors: readonly string[];
}

const ABOUT: Record<BudgetSubject, string> = {
  ORG: "All sessions of the organization.",
  AGENT: "All sessions of one agent.",
  USER: "All sessions started by one member.",
  CUSTOMER: "All sessions of one customer.",
  SESSION: "One session, with its forks.",
};

/** Whom a budget is for. */
export function SubjectPicker({ subject, value, onChange, errors }: SubjectPickerProps) {
  const { org } = useViewer();
  const choose = (id: string) => onChange(subject, id);
  return (
    <div className="space-y-4">
      <SelectField
        label="For"
        hint={ABOUT[subject]}
        errors={subject === "ORG" ? errors : []}
        value={subject}
        options={SUBJECTS.map((each) => [each, SUBJECT_LABELS[each]])}
        onChange={(next) => onChange(next, next === "ORG" ? org.id : "")}
      />
      {subject === "AGENT" && <AgentList value={value} onChange={choose} errors={errors} />}
      {subject === "USER" && <MemberList value={value} onChange={choose} errors={errors} />}
      {subject === "SESSION" && <SessionList value={value} onChange={choose} errors={errors} />}
      {subject === "CUSTOMER" && (
        <TextField
          label="Customer key"
          hint="The key that your program sets on its sessions."
          errors={errors}
          required
          spellCheck={false}
          value={value}
          onChange={choose}
        />
      )}
    </div>
  );
}

interface ListProps {
  value: string;
  onChange: (id: string) => void;
  errors: readonly string[];
}

function AgentList(props: ListProps) {
  const [text, setText] = useState("");
  const search = useDebounced(text.trim(), 200);
  const { data } = useFresh(SessionFormOptionsDocument, { search: search || null });
  const options = (data?.agents.nodes ?? []).map(({ id, name, displayName }) => ({
    id,
    title: displayName,
    note: name,
  }));
  return (
    <Choices
      {...props}
      legend="Agent"
      idPattern={/^agent_[0-9a-f]{32}$/}
      options={options}
      text={text}
      onText={setText}
    />
  );
}

function MemberList(props: ListProps) {
  const [text, setText] = useState("");
  const members = useMay("MEMBERS_READ");
  const [{ data }] = useQuery({
    query: BudgetSubjectsDocument,
    variables: { agents: false, members },
  });
  const options = (data?.org.members?.nodes ?? []).map(({ user }) => ({
    id: user.id,
    title: user.email,
    note: user.name,
  }));
  return (
    <Choices
      {...props}
      legend="Member"
      idPattern={/^user_[0-9a-f]{32}$/}
      options={matching(options, text)}
      text={text}
      onText={setText}
    />
  );
}

function SessionList(props: ListProps) {
  const [text, setText] = useState("");
  const { data } = useFresh(SessionsDocument, { first: 50, filter: null });
  const options = (data?.sessions.nodes ?? []).map(({ id, title, agent, harness }) => ({
    id,
    title: title ?? "Untitled session",
    note: agent?.displayName ?? harness.displayName,
  }));
  return (
    <Choices
      {...props}
      legend="Session"
      idPattern={/^sess_[0-9a-f]{32}$/}
      options={matching(options, text)}
      text={text}
      onText={setText}
    />
  );
}

interface Option {
  id: string;
  title: string;
  note: string;
}

function matching(options: readonly Option[], text: string): Option[] {
  const wanted = text.trim().toLowerCase();
  return options.filter(({ id, title, note }) =>
    `${title} ${note} ${id}`.toLowerCase().includes(wanted),
  );
}

interface ChoicesProps extends ListProps {
  legend: string;
  /** A whole id can be typed, too: the list may not reach as far. */
  idPattern: RegExp;
  options: readonly Option[];
  text: string;
  onText: (text: string) => void;
}

function Choices(props: ChoicesProps) {
  const { legend, idPattern, options, text, onText, value, onChange, errors } = props;
  const name = useId();
  const typed = text.trim();
  const extra = [typed, value].filter(
    (id, index, all) =>
      idPattern.test(id) && all.indexOf(id) === index && !options.some((each) => each.id === id),
  );
  const all = [...extra.map((id) => ({ id, title: id, note: "by its id" })), ...options];
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{legend}</legend>
      <input
        type="search"
        aria-label={`Search by name or enter an ID`}
        placeholder="Search by name or enter an ID"
        autoComplete="off"
        spellCheck={false}
        className="control mb-2"
        value={text}
        onChange={(event) => onText(event.target.value)}
      />
      <div className="max-h-44 overflow-y-auto rounded-md border border-line">
        {all.map(({ id, title, note }) => (
          <label
            key={id}
            className={classes(
              "flex items-center gap-2.5 border-b border-line px-3 py-2 text-sm last:border-b-0 hover:bg-hover",
              value === id && "bg-accent-soft",
            )}
          >
            <input
              type="radio"
              name={name}
              value={id}
              checked={value === id}
              onChange={() => onChange(id)}
              className="size-3.5 accent-(--accent)"
            />
            <span className="min-w-0 flex-1 truncate">{title}</span>
            <span className="truncate text-xs text-ink-3">{note}</span>
          </label>
        ))}
        {all.length === 0 && <p className="px-3 py-2 text-xs text-ink-3">No results.</p>}
      </div>
      {errors.length > 0 && (
        <p role="alert" className="mt-1.5 text-xs text-bad">
          {errors.join(" ")}
        </p>
      )}
    </fieldset>
  );
}
