import { Check, Columns3 } from "lucide-react";
import { IconButton } from "@/ui/Button";
import { Menu, MenuItem, MenuLabel } from "@/ui/Menu";
import { COLUMNS, columnsOf, withColumn } from "./columns";

interface ColumnMenuProps {
  /** The keys of those that show. */
  columns: string;
  onChange: (columns: string) => void;
}

/** Which columns the table shows. */
export function ColumnMenu({ columns, onChange }: ColumnMenuProps) {
  const shown = columnsOf(columns).map(({ key }) => key);
  return (
    <Menu
      trigger={
        <IconButton label="Columns" className="max-lg:hidden">
          <Columns3 size={16} />
        </IconButton>
      }
    >
      <MenuLabel>Columns</MenuLabel>
      {COLUMNS.map(({ key, label }) => (
        <MenuItem
          key={key}
          icon={shown.includes(key) && <Check size={14} />}
          onSelect={() => onChange(withColumn(columns, key, !shown.includes(key)))}
        >
          {label}
          <span className="sr-only">{shown.includes(key) ? " (shown)" : " (hidden)"}</span>
        </MenuItem>
      ))}
    </Menu>
  );
}
