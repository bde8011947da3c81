import { toggled } from "@/api/changes";
import type { EventKind } from "@/gql/graphql";
import { CheckGroups } from "@/ui/CheckGroups";
import { kindGroups, kindWords } from "./kinds";

interface KindPickerProps {
  /** What was chosen before; it stays on offer. */
  known: readonly EventKind[];
  value: readonly EventKind[];
  onChange: (picked: readonly EventKind[]) => void;
  errors: readonly string[];
}

/** Checkboxes for what a webhook is told of. */
export function KindPicker({ known, value: picked, onChange, errors }: KindPickerProps) {
  return (
    <CheckGroups
      legend="Events"
      groups={kindGroups(known).map(({ label, kinds }) => ({ label, values: kinds }))}
      words={kindWords}
      checked={(each) => picked.includes(each)}
      onToggle={(each) => onChange(toggled(picked, each))}
      errors={errors}
    />
  );
}
