import { PERMISSION_WORDS } from "@/auth/permissions";
import type { Permission } from "@/gql/graphql";
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
  const toggle = (permission: Permission) =>
    onChange(
      picked.includes(permission)
        ? picked.filter((each) => each !== permission)
        : [...picked, permission],
    );
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">Permissions</legend>
      <div className="divide-y divide-line rounded-md border border-line">
        {grantableGroups(held).map(({ label, permissions }) => (
          <fieldset key={label} className="px-3 py-2">
            <legend className="float-left mb-1 w-full text-xs text-ink-3">{label}</legend>
            <div className="clear-both grid gap-x-4 gap-y-1">
              {permissions.map((each) => (
                <label key={each} className="flex items-start gap-2 text-sm">
                  <input
                    type="checkbox"
                    className="mt-0.75 size-3.5 shrink-0 accent-(--accent)"
                    checked={picked.includes(each) || implied.includes(each)}
                    disabled={implied.includes(each)}
                    onChange={() => toggle(each)}
                  />
                  <span className="min-w-0">
                    {PERMISSION_WORDS[each]}{" "}
                    <span className="font-mono text-2xs text-ink-3">{each}</span>
                  </span>
                </label>
              ))}
            </div>
          </fieldset>
        ))}
      </div>
      {errors.length > 0 && <p className="mt-1.5 text-xs text-bad">{errors.join(" ")}</p>}
    </fieldset>
  );
}
