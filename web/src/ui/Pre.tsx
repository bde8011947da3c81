import type { ComponentPropsWithoutRef } from "react";

/** Preformatted text that may scroll, and so has to be reachable by keyboard. */
export function Pre(props: ComponentPropsWithoutRef<"pre">) {
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
      tabIndex={0}
      {...props}
    />
  );
}
