import { useEffect, useState } from "react";
import { useQuery } from "urql";
import { AuditActorsDocument, AuditKeysDocument } from "@/gql/graphql";
import type { Change } from "@/shell/search";
import { useMay } from "@/shell/viewer";
import { Button } from "@/ui/Button";
import { Filter } from "@/ui/Field";
import { actionWords, KNOWN_ACTIONS } from "./details";
import { type AuditSearch, fromLocalField, toLocalField } from "./search";

const ACTIONS = KNOWN_ACTIONS.map((each) => [each, actionWords(each)] as const).sort((a, b) =>
  a[1].localeCompare(b[1]),
);

interface AuditFiltersProps {
  search: AuditSearch;
  onChange: (change: Change<AuditSearch>) => void;
}

export function AuditFilters({ search, onChange }: AuditFiltersProps) {
  const filtered = Object.keys(search).length > 0;
  return (
    <search className="flex shrink-0 flex-wrap items-end gap-x-3 gap-y-2 border-b border-line px-4 pb-3 sm:px-6">
      <FilterChoice
        label="Action"
        none="Any action"
        value={search.action}
        options={ACTIONS}
        onChange={(action) => onChange({ action })}
      />
      <ActorChoice value={search.actor} onChange={(actor) => onChange({ actor })} />
      <FilterText
        label="Target"
        placeholder="Object ID"
        value={search.target}
        onChange={(target) => onChange({ target })}
      />
      <FilterTime label="From" value={search.from} onChange={(from) => onChange({ from })} />
      <FilterTime label="To" value={search.to} onChange={(to) => onChange({ to })} />
      {filtered && (
        <Button
          look="ghost"
          onClick={() =>
            onChange({
              action: undefined,
              actor: undefined,
              target: undefined,
              from: undefined,
              to: undefined,
            })
          }
        >
          Clear
        </Button>
      )}
    </search>
  );
}

interface FilterProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

interface FilterTextProps extends FilterProps {
  placeholder: string;
}

/** The API compares whole words, so what is typed counts once it is finished: with Enter, or when the field is left. */
function FilterText({ label, value, onChange, placeholder }: FilterTextProps) {
  const [text, setText] = useState(value ?? "");
  useEffect(() => setText(value ?? ""), [value]);
  const commit = (next: string) => {
    const wanted = next.trim() || undefined;
    if (wanted !== value) onChange(wanted);
  };
  return (
    <label className="min-w-36 flex-1 text-xs text-ink-2 sm:max-w-56">
      {label}
      <input
        placeholder={placeholder}
        type="search"
        autoComplete="off"
        spellCheck={false}
        className="control mt-1"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "") commit("");
        }}
        onBlur={() => commit(text)}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit(text);
        }}
      />
    </label>
  );
}

function FilterTime({ label, value, onChange }: FilterProps) {
  const [text, setText] = useState(toLocalField(value));
  useEffect(() => setText(toLocalField(value)), [value]);
  return (
    <label className="min-w-52 flex-1 text-xs text-ink-2 sm:max-w-52">
      {label}
      <input
        type="datetime-local"
        className="control mt-1"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          onChange(fromLocalField(event.target.value));
        }}
      />
    </label>
  );
}

/** People and API keys, as far as the viewer may see them; whoever else the address names stays chosen. */
function ActorChoice({ value, onChange }: Omit<FilterProps, "label">) {
  const maySeeMembers = useMay("MEMBERS_READ");
  const maySeeKeys = useMay("API_KEYS_MANAGE");
  const [{ data: people }] = useQuery({ query: AuditActorsDocument, pause: !maySeeMembers });
  const [{ data: keys }] = useQuery({ query: AuditKeysDocument, pause: !maySeeKeys });
  const members = people?.org.members?.nodes ?? [];
  const known = [
    ...members.map(({ user }) => [user.id, `${user.name} (${user.email})`] as const),
    ...(keys?.apiKeys.nodes ?? []).map(({ id, name }) => [id, `${name} (API key)`] as const),
  ];
  return (
    <FilterChoice label="Actor" none="Anyone" value={value} options={known} onChange={onChange} />
  );
}

interface FilterChoiceProps extends FilterProps {
  none: string;
  options: readonly (readonly [value: string, words: string])[];
}

function FilterChoice({ label, ...rest }: FilterChoiceProps) {
  return (
    <div className="min-w-36 flex-1 text-xs text-ink-2 sm:max-w-56">
      <span aria-hidden>{label}</span>
      <Filter label={label} className="mt-1" {...rest} />
    </div>
  );
}
