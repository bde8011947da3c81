import { type RefObject, useEffect, useRef } from "react";
import { isForPage } from "@/shell/keys";

/**
 * J and K go through the cards of a list, A approves and D denies the one that has the focus: nothing is decided that the
 * reader has not gone to. When its card is gone, the next one gets the focus, and is gone to by J. `count` is how many
 * cards there are.
 */
export function useWaitKeys(list: RefObject<HTMLElement | null>, count: number): void {
  const decidedAt = useRef<number | null>(null);
  const offered = useRef<HTMLElement>(undefined);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isForPage(event)) return;
      const cards = cardsIn(list.current);
      const at = cards.findIndex((card) => card.contains(document.activeElement));
      const key = event.key.toLowerCase();
      const isOffered = at !== -1 && offered.current === document.activeElement;
      if (key === "j" || key === "k") {
        const next = at === -1 ? 0 : key === "k" ? at - 1 : isOffered ? at : at + 1;
        offered.current = undefined;
        focus(cards[next]);
      } else if (key === "a" || key === "d") {
        if (isOffered) return;
        const button = cards[at]?.querySelector<HTMLButtonElement>(
          `button[aria-keyshortcuts="${key.toUpperCase()}"]`,
        );
        if (!button || button.disabled) return;
        decidedAt.current = at;
        button.click();
      } else return;
      event.preventDefault();
    };
    const onPointer = () => {
      offered.current = undefined;
    };
    window.addEventListener("keydown", onKey);
    window.addEventListener("pointerdown", onPointer);
    return () => {
      window.removeEventListener("keydown", onKey);
      window.removeEventListener("pointerdown", onPointer);
    };
  }, [list]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it is for the change of the count.
  useEffect(() => {
    const at = decidedAt.current;
    decidedAt.current = null;
    if (at === null || document.activeElement !== document.body) return;
    const cards = cardsIn(list.current);
    offered.current = cards[Math.min(at, cards.length - 1)];
    focus(offered.current);
  }, [list, count]);
}

function cardsIn(list: HTMLElement | null): HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>("[data-wait]") ?? [])];
}

function focus(card: HTMLElement | undefined): void {
  card?.focus();
  card?.scrollIntoView({ block: "nearest" });
}
