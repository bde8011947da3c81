import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { IconButton } from "./Button";
import { classes } from "./classes";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** `sheet` stands at the right edge, `drawer` at the left one; `bare` shows no title bar. */
  shape?: "box" | "sheet" | "drawer" | "bare";
  /** A click beside it does not close it: what it shows can't be had again. */
  sticky?: boolean;
  children: ReactNode;
}

const SHAPES = {
  box: "top-[12vh] left-1/2 max-h-[80vh] w-[min(30rem,calc(100vw-2rem))] -translate-x-1/2 rounded-xl",
  bare: "top-[12vh] left-1/2 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 overflow-hidden rounded-xl",
  sheet: "inset-y-0 right-0 w-[min(24rem,calc(100vw-2.5rem))] border-y-0 border-r-0",
  drawer: "inset-y-0 left-0 w-[min(18rem,calc(100vw-3.5rem))] border-y-0 border-l-0",
};

/**
 * Radix's own overlay puts a style element into the page, which the content security policy forbids; a plain
 * backdrop and a rule in theme.css do its work.
 */
export function Dialog({
  open,
  onClose,
  title,
  shape = "box",
  sticky = false,
  children,
}: DialogProps) {
  const opener = useRef<Element | null>(null);
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div data-dialog-open className="fixed inset-0 z-40 bg-(--scrim)" />
        <Radix.Content
          aria-describedby={undefined}
          onOpenAutoFocus={(event) => {
            opener.current = document.activeElement;
            focusFirstControl(event);
          }}
          onCloseAutoFocus={(event) => {
            // Radix knows of no trigger here, and without one would leave the focus on nothing.
            event.preventDefault();
            if (opener.current instanceof HTMLElement) opener.current.focus();
          }}
          onInteractOutside={(event) => sticky && event.preventDefault()}
          className={classes(
            "fixed z-50 flex flex-col border border-line bg-raised shadow-pop focus:outline-none",
            SHAPES[shape],
          )}
        >
          {shape === "bare" ? (
            <Radix.Title className="sr-only">{title}</Radix.Title>
          ) : (
            <div className="flex items-center justify-between gap-2 border-b border-line py-2.5 pr-2.5 pl-4">
              <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
              <Radix.Close asChild>
                <IconButton label="Close">
                  <X size={16} />
                </IconButton>
              </Radix.Close>
            </div>
          )}
          <div data-dialog-body className="min-h-0 flex-1 overflow-y-auto">
            {children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** The page that one is on, or the first field, is what a dialog is opened for; without this its close button would have the focus. */
function focusFirstControl(event: Event): void {
  const body = (event.currentTarget as HTMLElement).querySelector("[data-dialog-body]");
  const first =
    body?.querySelector<HTMLElement>("[aria-current=page]") ??
    body?.querySelector<HTMLElement>("input, textarea, select, button");
  const control = first?.matches("[type=radio]")
    ? (body?.querySelector<HTMLElement>("[type=radio]:checked") ?? first)
    : first;
  if (!control) return;
  event.preventDefault();
  control.focus();
}
