import { toggled } from "@/api/changes";
import { PERMISSION_WORDS } from "@/auth/permissions";
import type { Permission } from "@/gql/graphql";
import { CheckGroups } from "@/ui/CheckGroups";
import { grantableGroups, impliedBy } from "./keyDraft";

interface PermissionPickerProps {
  /** What the viewer holds: more than that can't be given. */
  held: readonly Permission[];
  picked: readonly Permission[];
  onChange: (picked: readonly Permission[]) => void;
  errors: readonly string[];
}

/** Checkboxes for what a key may do. What comes with another one is checked and can't be taken away. */
export function PermissionPicker({ held, picked, onChange, errors }: PermissionPickerProps) {
  const implied = impliedBy(picked);
  return (
    <CheckGroups
      legend="Permissions"
      groups={grantableGroups(held).map(({ label, permissions }) => ({
        label,
        values: permissions,
      }))}
      words={(each) => PERMISSION_WORDS[each]}
      checked={(each) => picked.includes(each) || implied.includes(each)}
      disabled={(each) => implied.includes(each)}
      onToggle={(each) => onChange(toggled(picked, each))}
      errors={errors}
    />
  );
}
