interface Movement {
  following: boolean;
  /** From the end, in pixels. */
  distance: number;
  movedUp: boolean;
  /** How long ago, in milliseconds, the reader used wheel, finger, mouse or keys, and the content changed its height. */
  sinceTouch: number;
  sinceResize: number;
}

const NEAR_PX = 64;
const TOUCH_MS = 500;
const RESIZE_MS = 300;

/**
 * Whether the end is followed after the list has moved. Content that gets shorter moves it up, too, so that alone doesn't
 * mean that the reader has left; a screen reader or a search in the page, on the other hand, moves it without touching it.
 */
export function followsAfter(movement: Movement): boolean {
  const { following, distance, movedUp, sinceTouch, sinceResize } = movement;
  const byReader = movedUp && (sinceTouch < TOUCH_MS || sinceResize > RESIZE_MS);
  if (distance <= 1) return true;
  return byReader ? false : following || distance < NEAR_PX;
}
