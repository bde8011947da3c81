import { DropdownMenu as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { classes } from "./classes";

interface MenuProps {
  trigger: ReactNode;
  align?: "start" | "end";
  side?: "top" | "bottom";
  children: ReactNode;
}

/** Not modal: the modal kind locks scrolling with a style element, which the content security policy forbids. */
export function Menu({ trigger, align = "end", side = "bottom", children }: MenuProps) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 min-w-52 rounded-lg border border-line bg-raised p-1 shadow-pop"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface MenuItemProps {
  onSelect: () => void;
  icon?: ReactNode;
  checked?: boolean;
  children: ReactNode;
}

export function MenuItem({ onSelect, icon, checked, children }: MenuItemProps) {
  return (
    <Radix.Item
      onSelect={onSelect}
      className={classes(
        "flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-highlighted:bg-hover",
        checked ? "font-medium text-ink" : "text-ink-2",
      )}
    >
      <span className="flex w-4 justify-center text-ink-3">{icon}</span>
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {checked && <span className="sr-only">(current)</span>}
    </Radix.Item>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <Radix.Label className="section-title px-2 pt-1.5 pb-1">{children}</Radix.Label>;
}

export function MenuSeparator() {
  return <Radix.Separator className="-mx-1 my-1 h-px bg-line" />;
}
