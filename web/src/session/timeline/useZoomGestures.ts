import { type RefObject, useEffect } from "react";
import { pan, type View, zoomAt } from "./zoom";

type Change = (change: (view: View | null) => View | null) => void;

/** How much a notch of a wheel, or as much of a pinch, zooms. */
const WHEEL_SPEED = 0.004;

/** Zooms where wheel or fingers are: pinching, or Ctrl with the wheel. Sideways moves what is shown. */
export function useZoomGestures(
  scroller: RefObject<HTMLElement | null>,
  axis: number,
  zoomed: boolean,
  change: Change,
): void {
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    let distance: number | null = null;

    const onWheel = (event: WheelEvent) => {
      const lane = laneOf(element);
      if (!lane) return;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const factor = Math.exp(clamp(event.deltaY, 100) * WHEEL_SPEED);
        change((view) => zoomAt(view, factor, placeIn(lane, event.clientX), axis));
      } else if (zoomed && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        change((view) => pan(view, event.deltaX / lane.width, axis));
      }
    };
    const onTouch = (event: TouchEvent) => {
      const [one, other] = event.touches;
      if (event.touches.length !== 2 || !one || !other) {
        distance = null;
        return;
      }
      event.preventDefault();
      const lane = laneOf(element);
      const now = Math.max(1, Math.abs(one.clientX - other.clientX));
      const factor = distance === null ? 1 : distance / now;
      distance = now;
      if (!lane) return;
      const middle = (one.clientX + other.clientX) / 2;
      change((view) => zoomAt(view, factor, placeIn(lane, middle), axis));
    };
    // React listens passively, so that nothing could be prevented.
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("touchstart", onTouch, { passive: false });
    element.addEventListener("touchmove", onTouch, { passive: false });
    element.addEventListener("touchend", onTouch);
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("touchstart", onTouch);
      element.removeEventListener("touchmove", onTouch);
      element.removeEventListener("touchend", onTouch);
    };
  }, [scroller, axis, zoomed, change]);
}

/** Where the axis is on the screen. On a narrow one the lines of turns have none. */
function laneOf(element: HTMLElement): DOMRect | null {
  for (const lane of element.querySelectorAll("[data-lane]")) {
    const box = lane.getBoundingClientRect();
    if (box.width > 0) return box;
  }
  return null;
}

export function placeIn({ left, width }: { left: number; width: number }, x: number): number {
  return Math.min(1, Math.max(0, (x - left) / width));
}

function clamp(value: number, most: number): number {
  return Math.min(most, Math.max(-most, value));
}
