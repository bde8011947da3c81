import { useState } from "react";
import { useQuery } from "urql";
import { useFresh } from "@/api/useFresh";
import { nameBeside } from "@/catalog/names";
import {
  type BudgetSubject,
  BudgetSubjectsDocument,
  SessionFormOptionsDocument,
  SessionsDocument,
} from "@/gql/graphql";
import { useMay, useViewer } from "@/shell/viewer";
import { SelectField, TextField } from "@/ui/Field";
import { RadioList } from "@/ui/RadioList";
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
  const [text, setText] = useState("");
  const choose = (id: string) => onChange(subject, id);
  const list = { value, onChange: choose, errors, text, onText: setText };
  return (
    <div className="space-y-4">
      <SelectField
        label="For"
        hint={ABOUT[subject]}
        errors={subject === "ORG" ? errors : []}
        value={subject}
        options={SUBJECTS.map((each) => [each, SUBJECT_LABELS[each]])}
        onChange={(next) => {
          onChange(next, next === "ORG" ? org.id : "");
          setText("");
        }}
      />
      {subject === "AGENT" && <AgentList {...list} />}
      {subject === "USER" && <MemberList {...list} />}
      {subject === "SESSION" && <SessionList {...list} />}
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
  /** What is searched for. */
  text: string;
  onText: (text: string) => void;
}

function AgentList(props: ListProps) {
  const search = useDebounced(props.text.trim(), 200);
  const { data } = useFresh(SessionFormOptionsDocument, { search: search || null });
  const options = (data?.agents.nodes ?? []).map((agent) => ({
    id: agent.id,
    title: agent.displayName,
    note: nameBeside(agent) ?? "",
  }));
  return <Choices {...props} legend="Agent" idPattern={/^agent_[0-9a-f]{32}$/} options={options} />;
}

function MemberList(props: ListProps) {
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
      options={matching(options, props.text)}
    />
  );
}

function SessionList(props: ListProps) {
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
      options={matching(options, props.text)}
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
}

function Choices(props: ChoicesProps) {
  const { legend, idPattern, options, text, onText, value, onChange, errors } = props;
  const typed = text.trim();
  const extra = [typed, value].filter(
    (id, index, all) =>
      idPattern.test(id) && all.indexOf(id) === index && !options.some((each) => each.id === id),
  );
  const all = [...extra.map((id) => ({ id, title: id, note: "by its id" })), ...options];
  return (
    <RadioList
      legend={legend}
      search={{ label: "Search by name or enter an ID", text, onText }}
      options={all}
      none="No results."
      value={value}
      onChange={onChange}
      errors={errors}
    />
  );
}
